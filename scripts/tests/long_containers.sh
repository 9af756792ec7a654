# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The images of Docker and Apptainer, where these are installed: built, which takes a network, and tested.
. "$ROOT/scripts/tap.sh"
version=$(cat "$ROOT/VERSION") image=hetsort-test-$$ tools=0
cd "$ROOT" || exit 1

if docker info >/dev/null 2>&1; then
  tools=1
  trap 'docker rmi -f "$image" >/dev/null 2>&1' EXIT
  run docker build -q -t "$image" -f scripts/packaging/Dockerfile .
  is "docker build" "$rc" 0
  run docker run --rm "$image" hetsort --version
  is "its hetsort" "$rc ${out%%$'\n'*}" "0 hetsort $version"
  run docker run --rm -w /tmp "$image" sh -ec "$(sed -n '/^%test$/,/^%/{/^%/d;p;}' scripts/packaging/hetsort.def)"
  is "sorts, also under mpirun" "$rc" 0
else echo "# omitted: docker does not run here"; fi
if command -v apptainer >/dev/null; then
  tools=1
  run apptainer build "$TEST_TMP/hetsort.sif" scripts/packaging/hetsort.def
  is "apptainer build, with its %test" "$rc" 0
  run apptainer run "$TEST_TMP/hetsort.sif" --version
  is "apptainer run" "$rc ${out%%$'\n'*}" "0 hetsort $version"
  ok "the label of the version" grep -q -F "org.opencontainers.image.version: $version" <(apptainer inspect "$TEST_TMP/hetsort.sif")
else echo "# omitted: apptainer is not installed"; fi
[ $tools = 1 ] || skip_all "neither docker nor apptainer runs here"
done_testing
