#!/bin/sh
# A fake installer of Miniforge or Miniconda with the same options: -b asks nothing, -p sets the directory; without them
# it asks. It also refuses a directory that exists, and installs files that contain its path. The installed conda
# creates and activates environments, whose python prints its name.

set -eu
batch='' prefix=
while getopts bp: option; do
  case $option in b) batch=1;; p) prefix=$OPTARG;; *) exit 2;; esac
done
if [ -z "$batch" ]; then
  printf 'Please, press ENTER to continue\n>>> '; read -r _
  printf 'Do you accept the license terms? [yes|no]\n>>> '; read -r accepted; [ "$accepted" = yes ] || exit 2
  printf 'Miniconda3 will now be installed into this location:\n[%s] >>> ' "$HOME/miniconda3"; read -r prefix
  prefix=${prefix:-$HOME/miniconda3}
fi
[ ! -e "$prefix" ] || { echo "ERROR: File or directory already exists: '$prefix'" >&2; exit 1; }
mkdir -p "$prefix/bin" "$prefix/etc/profile.d" "$prefix/envs"
echo "installing to $prefix, HOME is $HOME"
cat >"$prefix/bin/conda" <<END
#!/bin/sh
case \${1-} in
  --version) echo 'conda 0.0';;
  create) # -n NAME PACKAGE...
    envs='$prefix/envs'; [ -w "\$envs" ] || envs=\$HOME/.conda/envs
    mkdir -p "\$envs/\$3/bin"; printf '%s\n' "\$*" >"\$envs/\$3/created"
    printf '#!/bin/sh\necho "python of %s: \$*"\n' "\$3" >"\$envs/\$3/bin/python"; chmod 755 "\$envs/\$3/bin/python";;
  *) echo "conda: \$*" >&2; exit 2;;
esac
END
cat >"$prefix/etc/profile.d/conda.sh" <<END
conda() {
  if [ "\$1" != activate ]; then '$prefix/bin/conda' "\$@"; return; fi
  for env in '$prefix/envs' ~/.conda/envs; do
    if [ -d "\$env/\$2" ]; then export CONDA_DEFAULT_ENV="\$2" PATH="\$env/\$2/bin:\$PATH"; return; fi
  done
  echo "EnvironmentNameNotFound: \$2" >&2; return 1
}
END
chmod 755 "$prefix/bin/conda"
