# shellcheck shell=bash
# Completion for bash: of hetsort, and under their own names (links to this file) of hetsort-report, gensort, valsort,
# hetplan, hetsim and cpuburn. It needs nothing else. The options are those of --help, in its order; tests compare them.

_hetsort_options() { # PROGRAM
  case $1 in
    hetsort) echo '-o --output= --manifest= -f --force --no-fsync --verify= --report= --trace= --html= --record-size= --skip-header= --skip-trailer= --records= --key= -r --reverse -m --merge -s --stable
      --partition-only -u --unique --count= --top=
      --speeds= --plan= --wisdom= --source= --scatter= --links= --disks= --adapt --ranks= --threads= --bind= --emulate= -S --memory=
      -T --tmpdir= --workdir= --resume --direct= --io= --strategy= --exchange= --exchange-threads= --max-message= --timeout=
      --explain --progress= -v --verbose -q --quiet -c --check -C --check-silent
      --sum --clean --check-manifest -h --help --version' ;;
    hetsort-report) echo '-o --output= -h --help --version' ;;
    gensort) echo '-a --ascii -s --skew -b --begin= -c --checksum -t --threads= --no-fsync -h --help --version' ;;
    valsort) echo '-i --ignore-case -q --quiet -o --output= -s --summaries -t --threads= -h --help --version' ;;
    hetplan) echo '-i --input= --op= -n --items= -s --speeds= --cost= --costs= --weights= --capacity= --minimum=
      --quantum= --compute= --link= --chunk= --rule= --ratings= --processes= --best-upto= --observations= --w= --z=
      --tau= --latency= --vcomm= --vcomp= --installments= --max-installments= --time-limit= --max-mem= -m --method=
      --names= --json --csv -c --compare --max-steps= -g --gantt --no-gantt --width= --svg= --html= --title= -h --help
      --version' ;;
    hetsim) echo '-s --scale= -r --report= --hosts --json --calibrate --xml -h --help --version' ;;
    cpuburn) echo '--factor= --cpus= --seconds= --period= --fifo --nice --cgroup --no-calibration --json= -q --quiet
      -h --help --version' ;;
  esac
}

_hetsort_values() { # PROGRAM OPTION VERB - the words that it may have; files where there are none
  case "$1 $2 $3" in
    'hetsort --verify '*) echo 'buffers reread' ;;
    'hetsort --plan '*) echo 'equal linear nlogn taylor asymptotic online' ;;
    'hetsort --source '*) echo 'all root' ;;
    'hetsort --scatter '*) echo 'equal speed balanced dynamic' ;;
    'hetsort --bind '*) echo 'auto none' ;;
    'hetsort --direct '*) echo 'auto always never' ;;
    'hetsort --io '*) echo 'auto uring threads' ;;
    'hetsort --strategy '*) echo 'merge distribute' ;;
    'hetsort --exchange '*) echo 'auto direct two-level' ;;
    'hetsort --emulate '*) echo 'best' ;;
    'hetsort --progress '*) echo 'off' ;;
    'hetplan --op '*) echo 'share share-unrelated share-weights round emulate model scatter scatter-order scatter-root
      farm chain chain-replay' ;;
    'hetplan --cost '*) echo 'linear nlogn nlog2n1 power: affine:' ;;
    'hetplan --rule '*) echo 'fixed guided factoring' ;;
    'hetplan --method share' | 'hetplan -m share') echo 'exact taylor asymptotic proportional auto threshold bitset dp' ;;
    'hetplan --method scatter' | 'hetplan -m scatter') echo 'auto dp dp-increasing window multires lp closed allatonce
      twopass greedy fill' ;;
    'hetplan --method chain' | 'hetplan -m chain') echo 'lp simple singleinst multiinst' ;;
  esac
}

_hetsort() { # COMMAND CURRENT PREVIOUS, as bash calls it; = is a word of its own there
  local program=${1##*/} cur=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} words
  if [ "$cur" = = ]; then cur=''; elif [ "$option" = = ]; then option=${COMP_WORDS[COMP_CWORD - 2]}; fi
  words=$(_hetsort_values "$program" "$option" "${COMP_WORDS[1]}")
  if [ -z "$words" ]; then
    case $cur in
      -*) words=$(_hetsort_options "$program") ;;
      *) if [ "$program $COMP_CWORD" = 'hetplan 1' ]; then words='share scatter chain emulate model show batch'; fi ;;
    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
  case ${COMPREPLY[0]:-} in *[=:]) compopt -o nospace ;; esac
}

complete -o default -F _hetsort hetsort hetsort-report gensort valsort hetplan hetsim cpuburn
