# SPDX-License-Identifier: BSD-2-Clause
# bash completion for weftsim: commands, options and fixed words. Names of nodes are not completed:
# nothing is asked of a simulation.

_weftsim_types="fat-tree ft3 ft2 xgft rails torus mesh hypercube hyperx dragonfly dragonfly+
	slim-fly random multi-plane"
_weftsim_commands="status wrong show programs counters time help link-down link-up flap link-rate
	recable node-down node-up reboot plane-down plane-up silence hang answer mute refuse fail drop
	delay slow lie lid guid port-guid system-guid description trap errors heal traffic ar ar-support
	capture at every random quit"
_weftsim_stage="--adaptive --capture --latency --like-ibsim --log --script --seed --speed"

# Words behind a command of "weftsim ctl".
_weftsim_words_of() {
	case $1 in
	show) echo node links ports faults ;;
	wrong) echo all ;;
	traffic) echo start stop show ;;
	start) echo flow all-to-all ring shift incast ;;
	capture) echo stop ;;
	links) echo down ;;
	esac
}

_weftsim_options_of() {
	case $1 in
	run) echo "$_weftsim_stage --node --help" ;;
	serve) echo "$_weftsim_stage --socket --help" ;;
	rehearse) echo "$_weftsim_stage --for --help" ;;
	exec) echo --socket --node --help ;;
	ctl) echo --socket --help ;;
	generate) echo --speed --parallel --missing --names --shuffle-guids --seed --help ;;
	*) echo --help --version ;;
	esac
}

# True where the word before the current one wants a file.
_weftsim_wants_file() {
	case $1 in
	-s | --socket | --script | --log | --capture) return 0 ;;
	esac
	return 1
}

_weftsim() {
	local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
	local command=${COMP_WORDS[1]} words="" i ctl=""

	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		words="run serve rehearse exec ctl generate --help --version"
	elif _weftsim_wants_file "$before"; then
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		return
	elif [[ $before == --adaptive ]]; then
		words="on switches=all"
	elif [[ $before == --names ]]; then
		words=site
	elif [[ $current == -* ]]; then
		words=$(_weftsim_options_of "$command")
	elif [ "$command" = generate ] && [ "$COMP_CWORD" -eq 2 ]; then
		words=$_weftsim_types
	elif [ "$command" = ctl ]; then
		for ((i = 2; i < COMP_CWORD; i++)); do
			[[ ${COMP_WORDS[i]} == -* || ${COMP_WORDS[i-1]} == -s ||
				${COMP_WORDS[i-1]} == --socket ]] || ctl=yes
		done
		words=$_weftsim_commands
		[ -z "$ctl" ] || words=$(_weftsim_words_of "$before")
	elif [ "$command" = run ] || [ "$command" = serve ] || [ "$command" = rehearse ]; then
		if [ "$COMP_CWORD" -eq 2 ]; then
			mapfile -t COMPREPLY < <(compgen -f -- "$current")
			return
		fi
		mapfile -t COMPREPLY < <(compgen -c -- "$current")
		return
	elif [ "$command" = exec ]; then
		mapfile -t COMPREPLY < <(compgen -c -- "$current")
		return
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -F _weftsim weftsim
