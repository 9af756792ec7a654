#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Tables of FITS files, whose padding is as long as rows are, sorted in place between header and padding: astropy writes
# and reads them, fitsverify looks at every byte.
# shellcheck source=scripts/tap.sh
. "$ROOT/scripts/tap.sh"
# shellcheck source=python/tests/python_help.sh
. "$ROOT/python/tests/python_help.sh"
set -u
cd "$TEST_TMP" || exit 1
python=$(python_with astropy) || skip_all "no python3 with astropy"
command -v fitsverify >/dev/null || skip_all "no fitsverify"
export HOME=$TEST_TMP PYTHONDONTWRITEBYTECODE=1

# rows of 16 bytes: 1234 of them take 6.9 blocks of 2880 bytes, 180 take one block, and 5 leave much padding
cat >write.py <<'PY'
import sys
import numpy
from astropy.io import fits

rows, name = int(sys.argv[1]), sys.argv[2]
rng = numpy.random.default_rng(7)
columns = [fits.Column("MASS", "D", array=rng.integers(-500, 500, rows) / 8),
           fits.Column("ID", "J", array=rng.integers(0, 2**32, rows, "u4"), bzero=2**31), fits.Column("NAME", "4A")]
table = fits.BinTableHDU.from_columns(columns)
table.data["NAME"] = ["n%03d" % (i % 1000) for i in range(rows)]
fits.HDUList([fits.PrimaryHDU(), table]).writeto(name, checksum=True)
with fits.open(name) as f:
    print(f[1].fileinfo()["datLoc"], f[1].header["NAXIS1"], f[1].header["NAXIS2"])
PY
cat >compare.py <<'PY'
import sys
from astropy.io import fits

with fits.open(sys.argv[1], checksum=True) as before, fits.open(sys.argv[2], checksum=True) as after:
    same = before[1].header == after[1].header and before[0].header == after[0].header
    rows = [tuple(row) for row in before[1].data]
    print(same, [tuple(row) for row in after[1].data] == sorted(rows, key=lambda row: row[0]))
PY
for rows in 5 180 1234; do
  read -r header row count < <("$python" -W error write.py $rows in.$rows)
  is "$rows rows: what astropy says of them" "$row/$count" "16/$rows"
  for way in "" "--ranks=3" "--ranks=2 --merge"; do
    from=in.$rows && [ "${way#*--merge}" != "$way" ] && from=out.fits
    # shellcheck disable=SC2086  # a way is several words
    run "$BIN/hetsort" --record-size=16 --key=0,f64be --skip-header="$header" --records="$count" $way -f -o sorted.fits "$from"
    is "$rows rows, ${way:-one rank}: sorted" "$rc/$err" 0/
    mv sorted.fits out.fits
    is "$rows rows, ${way:-one rank}: as astropy reads them" "$("$python" -W error compare.py in.$rows out.fits)" "True True"
    is "$rows rows, ${way:-one rank}: fitsverify" "$(fitsverify -q out.fits 2>&1 | grep -c '^verification OK')" 1
  done
  run "$BIN/hetsort" --check --record-size=16 --key=0,f64be --skip-header="$header" --records="$count" out.fits
  is "$rows rows: --check" "$rc/$err" 0/
done
done_testing
