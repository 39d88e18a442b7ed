# SPDX-License-Identifier: BSD-2-Clause
# bash completion for weft: commands, options and fixed words. Nothing is asked of the daemon, so
# that a Tab never waits for a fabric.

_weft_options_of() {
	case $1 in
	wait) echo --timeout ;;
	path | "qos explain") echo --service-id --pkey --class ;;
	"show nodes") echo --type --silent --all ;;
	"show switches") echo --silent --all ;;
	"show ports" | "show links") echo --type --down --slow --all ;;
	"show routes") echo --all --dump ;;
	"show rails") echo --all ;;
	"show events") echo --last --after --type --level --follow ;;
	check) echo --dump --names --seed --samples --threads --no-quality ;;
	route) echo --engine --config --roots --storage --other --lmc --file --names --plugin --option --time-limit --memory-limit \
		--adaptive --lfts --dump --seed --samples \
		--threads --no-quality ;;
	reroute) echo --engine --full --forget-lost --forget-levels --dry-run ;;
	fail | drain | undrain) echo --dry-run ;;
	reload | "plugin reload") echo --dry-run ;;
	"import opensm") echo --state ;;
	"plugin test") echo --option --time-limit --memory-limit ;;
	"show partitions") echo --members ;;
	"partition add") echo --pkey --ipoib --membership --index0 --idempotent --dry-run ;;
	"partition remove" | "partition member remove") echo --idempotent --dry-run ;;
	"partition set" | "partition member add") echo --membership --index0 --dry-run ;;
	"partition apply") echo --dry-run ;;
	"partition check") echo --pkey ;;
	esac
}

# Fixed values of an option; nothing where any text may stand.
_weft_values_of() {
	case $2 in
	-o | --output)
		if [ "$1" = "show topology" ]; then
			echo ibnetdiscover dot json
		else
			echo table json
		fi ;;
	--engine) echo auto fattree updn minhop torus dragonfly hyperx fatpaths nue dfsssp file ;;
	--membership) echo full limited both ;;
	--level) echo error warning notice info debug ;;
	--type)
		if [ "$1" = "show events" ]; then
			echo start port role sweep node-up node-down link-up link-down silent \
				duplicate refused routed repaired fallback unrouted trap config \
				health quarantined released overdue state adaptive plugin
		else
			echo ca switch router
		fi ;;
	esac
}

_weft_takes_value() {
	case $1 in
	-s | -o | --socket | --output | --subnet | --timeout | --type | --level | --engine | \
		--last | --after | --roots | --storage | --other | --lmc | --file | --names | \
		--lfts | --plugin | --option | --time-limit | --memory-limit | --state | --seed | --samples | --threads | --pkey | --membership) return 0 ;;
	# With "show routes" --dump is a flag.
	--dump) [ "$2" != "show routes" ] && return 0 ;;
	esac
	return 1
}

_weft() {
	local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
	local command="" word skip="" words="" i

	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [ -n "$skip" ]; then
			skip=""
		elif _weft_takes_value "$word" "$command"; then
			skip=yes
		elif [[ $word != -* ]] && [ -z "$command" ]; then
			command=$word
		elif [[ $word != -* ]] && [[ $command =~ ^(show|import|qos|plugin|partition|partition\ member)$ ]]; then
			command="$command $word"
		fi
	done

	COMPREPLY=()
	if [ "$before" = -s ] || [ "$before" = --socket ]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		return
	elif [[ $before =~ ^--(file|lfts|plugin|dump|state)$ ]] && _weft_takes_value "$before" "$command"; then
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		return
	elif _weft_takes_value "$before" "$command"; then
		words=$(_weft_values_of "$command" "$before")
	elif [[ $current == -* ]]; then
		words="$(_weft_options_of "$command") --socket --output --subnet --help"
		[ -n "$command" ] || words+=" --version"
	elif [ -z "$command" ]; then
		words="wait status show path qos check route import reroute fail drain undrain partition plugin reload"
	elif [ "$command" = route ] || [ "$command" = "plugin test" ]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		return
	elif [ "$command" = qos ]; then
		words="explain"
	elif [ "$command" = plugin ]; then
		words="reload test"
	elif [ "$command" = partition ]; then
		words="add remove set member apply check"
	elif [ "$command" = "partition member" ]; then
		words="add remove"
	elif [ "$command" = "import opensm" ]; then
		mapfile -t COMPREPLY < <(compgen -d -- "$current")
		return
	elif [ "$command" = import ]; then
		words=opensm
	elif [ "$command" = show ]; then
		words="nodes switches ports links multicast partitions qos adaptive congestion counters health rails services subscriptions routes engines plugins events ha topology"
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -F _weft weft
