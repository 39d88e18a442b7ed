/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_HARNESS_CASES_H
#define TESTS_HARNESS_CASES_H

/*
 * What the harness has found, as it was left of a schedule when it was made as small as it still
 * failed; each is run first, and by its name alone with `test_harness --case NAME`.
 */
static const struct {
	const char *name;	/* what was wrong */
	const char *text;	/* the schedule */
} harness_cases[] = {
	{ "nothing", "ft2 3 2 2; seed=1 sms=1 lmc=0 engine=3 levels=0 tenants=0 sweep=10" },
	{ "a switch is drained that is gone when the command begins", "ft3 4; seed=158415 sms=2 "
	  "lmc=0 engine=0 levels=0 tenants=0 sweep=10; cut +20966 any/0 17883 20355; drain +1961 "
	  "config/0 99556 32433" },
	{ "a member of a group was out of reach when the manager forgot it", "ft3 4; seed=784934 "
	  "sms=2 lmc=0 engine=2 levels=0 tenants=0 sweep=10; join +301272 any/0 65578 48088; "
	  "settle +0 any/0 0 0; cut +327923 any/0 61880 20047; sm-amnesia +441 any/0 11979 71509" },
	{ "a subscriber was out of reach for a moment", "random 20 3 1 92; seed=790398 sms=2 lmc=0 "
	  "engine=1 levels=0 tenants=0 sweep=10; cut +2604769 any/0 96612 77013; link-up +646 "
	  "any/0 46635 50474; settle +0 any/0 0 0; subscribe +4 any/0 33449 95076; switch-off "
	  "+9475 any/0 60906 63859; switch-off +11268 any/0 588 57662" },
	{ "pairs have another path class after a restart", "random 20 3 1 332; seed=643011 sms=1 "
	  "lmc=0 engine=2 levels=0 tenants=0 sweep=10; link-down +5 any/0 31272 62062; sm-restart "
	  "+822 any/0 29991 58159" },
	{ "a host is reset while it is programmed, and has keys", "dragonfly 4 1 1 5; seed=930995 "
	  "sms=2 lmc=0 engine=1 levels=0 tenants=1 sweep=10; host-reboot +1 config/0 80969 5739" },
	{ "a switch is reset within a sweep that had looked at it", "torus 5 4 1; seed=962738 "
	  "sms=1 lmc=0 engine=0 levels=0 tenants=0 sweep=10; node-guid-twice +2240 any/0 33239 "
	  "77082; switch-off +238796 any/0 13684 54099; kept +77218 any/0 70565 85422; loss "
	  "+2866 any/0 35488 28589; switch-reboot +2679418 any/0 69228 20522; host-up +534 "
	  "drain-wait/0 41647 89320" },
	{ "two hosts change places while they are programmed", "ft3 4; seed=557822 sms=1 lmc=0 "
	  "engine=3 levels=1 tenants=1 sweep=10; host-down +28562 any/0 33234 68794; traps-lost "
	  "+118 any/0 85608 83967; host-moved +113946 any/0 91495 20609; withheld +446520 any/0 "
	  "9526 19735; sm-restart +829451 any/0 79378 13200; link-down +6437 any/0 7004 68613" },
	{ "LIDs are other hosts' when connections to them still are", "random 20 3 1 920; "
	  "seed=568096 sms=2 lmc=0 engine=5 levels=0 tenants=0 sweep=10; reload-lmc +924 any/0 "
	  "54445 82210" },
	{ "a switch with unknown tables is lost when it is given others", "ft3 4; seed=700143 "
	  "sms=2 lmc=0 engine=0 levels=0 tenants=0 sweep=10; traps-lost +955 any/0 11918 36562; "
	  "delay +3 any/0 25344 92949; link-down +69363 any/0 75813 88031; sm-amnesia +2440153 "
	  "any/0 53929 71409; link-down +294307 any/0 57521 85727; cable-moved +206 any/0 61295 "
	  "18983" },
	{ "hosts are told of a plan whose tables did not get in", "random 20 3 1 621; seed=84872 "
	  "sms=2 lmc=0 engine=5 levels=0 tenants=0 sweep=10; hung +229 waiting/0 38935 3348; "
	  "reload-engine +2184 any/0 56507 30522; host-moved +787982 any/0 80553 1863; settle +0 "
	  "any/0 0 0" },
	{ "a manager that leads again tells of the plan of its reign before", "random 20 3 1 751; "
	  "seed=336917 sms=3 lmc=0 engine=5 levels=0 tenants=0 sweep=10; switch-off +7 config/0 "
	  "43909 47396; sm-restart +9 any/0 92512 43015" },
	{ "a switch is silent that took a table which nobody heard it take", "random 10 3 1 369; "
	  "seed=456314 sms=1 lmc=0 engine=2 levels=0 tenants=0 sweep=10; drain +162 idle/0 53544 "
	  "48683; delay +15 waiting/0 10422 12713; trap-storm +2715765 any/0 50553 20745" },
	{ "a switch comes with the LID of another port, and its first cable is dead", "ft2 3 2 2; "
	  "seed=621216 sms=1 lmc=0 engine=0 levels=0 tenants=0 sweep=10; switch-off +6 any/0 "
	  "10055 37409; host-up +3209496 any/0 96551 92334; lid-twice +2205 any/0 85525 23618; "
	  "settle +0 any/0 0 0" },
	{ "a host is reset after it was given its keys, and before its link was ever up", "ft2 14 "
	  "6 1; seed=168506 sms=2 lmc=0 engine=0 levels=2 tenants=1 sweep=10; drain +714 any/0 "
	  "29245 30438; host-reboot +7 any/0 92885 53599" },
	{ "a host comes back whose LID is a live host's by now", "torus 5 4 1; seed=120724 "
	  "sms=2 lmc=0 engine=1 levels=0 tenants=0 sweep=10; host-down +99312 any/0 "
	  "10136 25007; kept +397 any/0 17229 31258; sm-killed +1640 any/0 65481 82794; "
	  "settle +0 any/0 0 0" },
	{ "a host comes back whose LID is a switch's by now", "ft2 4 2 2 2; seed=530467 sms=3 "
	  "lmc=0 engine=0 levels=0 tenants=0 sweep=10; switch-off +4660 any/0 54953 "
	  "24166; switch-off +247 any/0 56358 22021; sm-killed +4302 any/0 88073 97153; "
	  "switch-reboot +670 any/0 18615 83251; sm-killed +177 any/0 58346 48683; "
	  "settle +0 any/0 0 0" },
	{ "a host comes back whose LID went to a switch that had kept none", "dragonfly 4 1 1 "
	  "5; seed=688248 sms=2 lmc=0 engine=0 levels=0 tenants=0 sweep=10; switch-off "
	  "+2702 any/0 11665 14134; kept +2323 any/0 26305 18135; settle +0 any/0 0 0" },
	{ "answers are damaged, and a host comes back whose LID is another's", "ft3 4; "
	  "seed=355527 sms=2 lmc=0 engine=3 levels=0 tenants=0 sweep=10; damaged +59 "
	  "any/0 31715 34990; switch-off +65140 any/0 9132 60121; settle +0 any/0 0 0" },
	{ "a partition changes after a routing of a larger fabric was refused", "mesh 5 4 1; "
	  "seed=559056 sms=1 lmc=0 engine=0 levels=0 tenants=1 sweep=10; switch-on +0 (null)/0 "
	  "91710 55557; delay +629 any/0 78335 38789; host-moved +59919 any/0 97856 99734; "
	  "sm-started +1773 any/0 69779 96267; partition-command +593 any/0 53125 57287; "
	  "host-moved +9439 any/0 91712 16487" },
	{ "switches are read to be on that have no group", "hyperx 5 4 1; "
	  "seed=354717 sms=2 lmc=0 engine=8 levels=0 tenants=0 sweep=10 adaptive=1; settle +0 "
	  "any/0 0 0; sm-amnesia +9 any/0 89132 71375; reload-engine +15923 any/0 19457 61153" },
	{ "a switch is on, and the plan has nothing for it", "ft2 14 6 1; seed=671634 sms=2 lmc=0 "
	  "engine=1 levels=0 tenants=0 sweep=10 adaptive=1; link-down +2000000 any/0 48876 99491; "
	  "ar-refused +264 ar-rows/0 51715 43616; ar-refused +197 ar-leave/0 52351 62690" },
	{ "a switch has a host's LID, and nobody is there to set it right", "ft2 14 6 1; "
	  "seed=451739 sms=1 lmc=0 engine=1 levels=0 tenants=0 sweep=10; settle +0 any/0 0 0; "
	  "lid-twice +442 any/0 77306 18657; switch-off +179804 any/0 51810 91164; settle +0 "
	  "any/0 0 0; host-down +8367 any/0 39493 40227" },
	{ "a manager's LID was another's that led where it was not", "ft3 4; seed=355527 sms=2 "
	  "lmc=0 engine=3 levels=1 tenants=0 sweep=10; damaged +59 any/0 31715 34990; "
	  "switch-off +65140 any/0 9132 60121; settle +0 any/0 0 0; subscribe +690174 any/0 "
	  "5504 55351; sm-port-lost +2479 any/0 77101 85265" },
	{ "a switch refuses tables of lanes for a while", "ft3 4; seed=967345 sms=2 lmc=0 "
	  "engine=3 levels=0 tenants=0 sweep=10; refused +73370 any/0 74751 69995; reload-qos "
	  "+813160 any/0 53834 92802; link-flap +5655 any/0 99829 56631" },
	{ "a host was silent when its partition changed", "hyperx 5 4 1; seed=768108 sms=2 "
	  "lmc=0 engine=2 levels=0 tenants=1 sweep=10; sweep +335053 any/0 79627 85367; "
	  "withheld +853 any/0 13188 55843; host-moved +1772 any/0 18368 56007; partition +761 "
	  "any/0 27861 67938" },
	{ "a host refuses once to tell of its P_Keys", "mesh 5 4 1; seed=504331 sms=1 lmc=0 "
	  "engine=0 levels=0 tenants=0 sweep=10; withheld +7 any/0 55704 21334; reroute +1097 "
	  "any/0 65381 87569; link-down +15 any/0 1741 17130; link-flap +2184 any/0 40183 17236" },
	{ "aliases are written again by a restart", "xgft 2 2 3 1 2; seed=196640 sms=1 lmc=0 "
	  "engine=0 levels=0 tenants=0 sweep=10; alias +2140649 any/0 49153 75449" },
	{ "a host that was there all the time is known again", "torus 5 4 1; seed=495956 sms=1 "
	  "lmc=0 engine=2 levels=1 tenants=0 sweep=10; hung +5 any/0 32036 10556; sm-port-lost "
	  "+2806 any/0 87624 8671; reload-engine +1489611 any/0 33021 42871" },
	{ "a manager led unseen, and wrote its own port", "random 6 3 2 969; seed=433273 sms=2 "
	  "lmc=0 engine=0 levels=0 tenants=0 sweep=10; rejoin +2885490 any/0 57421 44987; hung "
	  "+164424 any/0 45452 75452; alias +3214133 any/0 79663 35310; sm-killed +66593 drop/0 "
	  "23925 57870" },
	{ "packets to a subscriber are dropped for several Reports", "torus 5 4 1; seed=904991 "
	  "sms=3 lmc=0 engine=4 levels=0 tenants=0 sweep=10; babble +2054 any/0 71194 52226; "
	  "subscribe +727618 any/0 72069 47722; reload +1909 any/0 75778 37712; settle +0 any/0 "
	  "0 0; link-down +45 any/0 74791 97685; node-guid-twice +282168 any/0 36321 61623; cut "
	  "+3635 any/0 25565 35237; hung +1157 numbers/0 3187 45107; reload-engine +934 any/0 "
	  "26115 79760; partition +1954 read-lanes/0 35209 47324" },
	{ "an alias is deleted that the manager has forgotten", "mesh 5 4 1; seed=725562 sms=2 "
	  "lmc=0 engine=2 levels=0 tenants=0 sweep=10; alias +318 any/0 59312 50742; settle +0 "
	  "any/0 0 0; sm-amnesia +35 any/0 18875 55016; alias-ends +4 any/0 38639 48061" },
	{ "LIDs are other hosts' after a restart", "torus 5 4 1; seed=262134 sms=2 lmc=0 "
	  "engine=0 levels=0 tenants=0 sweep=10; traps-lost +629 any/0 68208 90444; sm-killed "
	  "+8 any/0 75378 96491; reload-lmc +0 any/0 54365 16202" },
	{ "a switch is silent whose tables the new manager never read", "mesh 5 4 1; "
	  "seed=531235 sms=2 lmc=0 engine=2 levels=0 tenants=0 sweep=10; reload-lmc +82663 "
	  "any/0 65589 84064; sm-port-lost +173 any/0 1176 86688; silent +6 any/0 59299 40948; "
	  "sm-killed +2169556 any/0 87771 18958" },
	{ "another manager left groups with numbers that no entry has", "torus 5 4 1; "
	  "seed=543982 sms=2 lmc=0 engine=1 levels=0 tenants=0 sweep=10 adaptive=1; drain +2826 "
	  "idle/0 763 9225; sm-port-lost +57458 any/0 71288 90375" },
	{ "a switch does not tell whoever takes over that it is on", "torus 5 4 1; seed=430850 "
	  "sms=2 lmc=0 engine=1 levels=0 tenants=0 sweep=10 adaptive=15; sm-restart +2000000 "
	  "any/0 8549 67267; ar-mute +47 any/0 79556 87080; reload-lmc +288322 any/0 68503 "
	  "34077; sweep +2323 poll/0 66311 99145" },
	{ "a switch that is on does not take the first of several rows", "random 20 3 1 601; "
	  "seed=479876 sms=1 lmc=0 engine=0 levels=0 tenants=0 sweep=10 adaptive=1; switch-off "
	  "+355332 any/0 11237 64094; ar-kept +179 ar-rows/0 19682 97347; sm-started +1411633 "
	  "any/0 98516 15161" },
	{ "a switch takes no rows at all, and is turned off", "torus 5 4 1; seed=894884 sms=2 "
	  "lmc=0 engine=0 levels=0 tenants=0 sweep=10 adaptive=1; link-down +410094 any/0 41858 "
	  "37478; ar-refused +243 ar-rows/0 70592 20622; ar-lost +165 ar-leave/0 73755 73015" },
	{ "a switch refuses groups, and its entries are to be dropped", "ft3 4; seed=802751 "
	  "sms=2 lmc=0 engine=3 levels=0 tenants=0 sweep=10 adaptive=15; link-up +2000000 any/0 "
	  "14017 93864; ar-refused +150 any/0 8940 8373; link-flap +496 any/0 16920 92507; "
	  "link-flap +82 multicast/0 90945 53300; host-down +1271 multicast/0 34256 77033; "
	  "link-down +906 pkeys-switches/0 80143 67955" },
	{ "a switch that is on falls silent, and its groups go with no rows", "ft3 4; "
	  "seed=351387 sms=2 lmc=0 engine=0 levels=0 tenants=0 sweep=10 adaptive=1; rejoin "
	  "+2000000 any/0 38652 16381; ar-late +76 any/0 52453 2505; cut +877 any/0 90688 76414; "
	  "subscribe +654990 any/0 32487 24819" },
};
#define HARNESS_CASES (sizeof(harness_cases) / sizeof(harness_cases[0]))

#endif
