#!/bin/sh
# Lists the installed packages of a node that apt can raise, or raises them. $1: list or raise; $2: security or all.
# Prints "raise NAME OLD NEW" for each package, and "held NAME OLD NEW REASON" for each that stays, with tabs. If apt fails,
# its first error is on standard error.
# Slurm and the GPU driver stay: `gpupool upgrade` and the inventory move them. A kernel moves with its headers, or stays.
# Packages that an admin holds with apt-mark are not listed.

set -eu
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1
act=$1 scope=$2 log=/var/log/gpupool-packages.log
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
apt() { # its steps are printed; all else goes to a file on the node: a lost connection does not kill dpkg by a broken pipe
  apt-get -q -y -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold -o Dpkg::Use-Pty=0 \
    -o Dir::Etc::preferences="$work/preferences" "$@" </dev/null 2>>"$log"
}
fail() {
  why=$(grep -hE '^(E|W|dpkg|dpkg-deb): ' "$log" | head -n 1)
  printf '%s\n' "$1: ${why:-failed with no output}" >&2; exit 1
}
: >"$log"
present=
eval "$(apt-config shell present Dir::Etc::preferences/f)"
[ ! -e "$present" ] || cat -- "$present" >"$work/preferences"
# a fix of security may be older than the newest version: Debian's and Ubuntu's suites of security end with this word
[ "$scope" = all ] ||
  printf '\nPackage: *\nPin: release a=*-security\nPin-Priority: 990\n' >>"$work/preferences"
if [ "$act" = raise ]; then
  dpkg --force-confold --configure -a >>"$log" 2>&1 </dev/null || fail 'dpkg --configure -a'
fi
apt -o APT::Update::Error-Mode=any update >>"$log" || fail 'apt-get update'
apt -s upgrade --with-new-pkgs >"$work/steps" || fail 'apt-get upgrade'
dpkg-query -W -f='${db:Status-Abbrev} ${source:Package} ${Package}\n' >"$work/installed"
awk -v scope="$scope" '
  function base(name) { sub(/:.*/, "", name); return name }
  function apart(name, source) {
    if (source ~ /^slurm(-wlm|-smd)?$/) return "Slurm: gpupool upgrade"
    if (name ~ /nvidia-container/) return ""
    if (source ~ /^nvidia-graphics-drivers/ || name ~ /^(lib)?nvidia-|^xserver-xorg-video-nvidia|^cuda-drivers|^libcuda1$/ ||
      name ~ /^linux-(modules|objects|signatures)-nvidia/) return "the GPU driver: software.nvidia_driver of the inventory"
    return ""
  }
  function kernel(name) { return name ~ /^linux-(image|headers|modules|generic|virtual|lowlatency|aws|azure|gcp|oracle|nvidia)/ }
  FILENAME ~ /installed$/ {
    if ($1 !~ /^.i/) next
    sources[$3] = $2
    if ($3 == "dkms") dkms = 1
    if (substr($1, 1, 1) == "h" && kernel($3)) stays = "the kernel: " $3 " is held"
    if ($3 ~ /^linux-(modules|objects)-nvidia/) stays = "the kernel: its GPU driver comes in " $3
    next
  }
  /^Inst [^ ]+ \[[^]]*\] \(/ {
    name = $2; old = substr($3, 2, length($3) - 2); new = substr($4, 2)
    if (scope != "all" && $0 !~ /-security[ ,]/) next
    count++; names[count] = name; olds[count] = old; news[count] = new
    if (name ~ /^linux-image/) image = 1
    if (name ~ /^linux-headers/) headers = 1
  }
  END {
    if (image && dkms && !headers && stays == "") stays = "the kernel: dkms builds modules, and no headers come with it"
    for (n = 1; n <= count; n++) {
      name = base(names[n])
      why = apart(name, sources[name])
      if (why == "" && kernel(name)) why = stays
      if (why == "") print "raise\t" names[n] "\t" olds[n] "\t" news[n]
      else print "held\t" names[n] "\t" olds[n] "\t" news[n] "\t" why
    }
  }' "$work/installed" "$work/steps" >"$work/found"
exact=$(awk -F'\t' '$1 == "raise" { print $2 "=" $4 }' "$work/found")
if [ -n "$exact" ]; then
  # shellcheck disable=SC2086 # names
  apt -s --no-install-recommends --no-remove install -- $exact >"$work/steps" || fail 'apt-get install'
  moved=$(awk -F'\t' 'NR == FNR { if ($1 == "held") held[$2] = 1; next }
    { split($0, words, " "); if (words[1] == "Inst" && words[2] in held) print words[2] }' "$work/found" "$work/steps")
  if [ -n "$moved" ]; then
    # shellcheck disable=SC2116,SC2086 # joins the lines
    printf '%s\n' "apt would also raise $(echo $moved), which must stay" >&2; exit 1
  fi
  if [ "$act" = raise ]; then
    # shellcheck disable=SC2086 # names
    apt --no-install-recommends --no-remove install -- $exact >>"$log" || fail 'apt-get install'
  fi
fi
cat "$work/found"
