# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A tree of a few small files, in tree/, for tests of what looks at sources.

# REUSE-IgnoreStart
plant() { # plant FILE <TEXT - into the tree, below an SPDX line if it is C or a script
  mkdir -p "tree/$(dirname "$1")"
  case $1 in
    *.[ch]) echo '/* SPDX-License-Identifier: GPL-3.0-or-later */' ;;
    *.sh | Makefile) echo '# SPDX-License-Identifier: GPL-3.0-or-later' ;;
  esac >"tree/$1"
  cat >>"tree/$1"
}
# REUSE-IgnoreEnd

# Two parts, one of them with three floors, and a table that has them. build_tree compiles it.
layered_tree() {
  rm -rf tree
  plant Makefile <<'MAKE'
OBJ = build/1
every-object: $(patsubst %.c,$(OBJ)/%.o,$(C_FILES))
	@: objects are in $(OBJ)
objects: every-object
$(OBJ)/%.o: %.c
	@mkdir -p $(@D)
	@$(CC) -iquote sort -Ipartition/include -Ibuild/include $(EXTRA) -MMD -MP -c -o $@ $<
-include $(wildcard $(OBJ)/*/*.d $(OBJ)/*/*/*.d $(OBJ)/*/*/*/*.d)
MAKE
  plant CONTRIBUTING.md <<'TABLE'
The table:

| directory | what is inside | may use |
|---|---|---|
| `sort/top/` | the program | `middle`, `base`, `partition/include`, `<mpi.h>` |
| `sort/middle/` | two modules | `base` |
| `sort/base/` (3) | three | - |
| `partition/share/` | the planner | `include` |
| `partition/include/` (1) | its header | - |
TABLE
  plant sort/top/main.c <<<$'#include <mpi.h>\n#include <hetpart.h>\n#include "middle/a.h"\nint main(void) { return a() + plan(); }'
  plant sort/top/other.c <<<'static int other;'
  plant sort/middle/a.h <<<$'#include "b.h"\nint a(void);'
  plant sort/middle/a.c <<<$'#include "a.h"\n#include "base/x.h"\nint a(void) { return b() + x(); }'
  plant sort/middle/b.h <<<$'int b(void);'
  plant sort/middle/b.c <<<$'#include "b.h"\n#include "../base/x.h"\nint b(void) { return x(); }'
  plant sort/base/x.h <<<'int x(void);'
  plant sort/base/x.c <<<$'#include "x.h"\nint x(void) { return 1; }'
  plant sort/base/y.h <<<'int y(void);'
  plant sort/base/z.h <<<'int z(void);'
  plant sort/base/tests/help.h <<<'int help(void);'
  plant sort/base/tests/test_x.c <<<$'#include "help.h"\n#include "middle/a.h"'
  plant partition/include/hetpart.h <<<'int plan(void);'
  plant partition/share/share.h <<<'int share(void);'
  plant partition/share/share.c <<<$'#include <hetpart.h>\n#include "share.h"\nint plan(void) { return share(); }\nint share(void) { return 2; }'
  plant partition/share/round.c <<<'static int rounded;'
  mkdir -p tree/build/include
  echo 'int mpi(void);' >tree/build/include/mpi.h
}

build_tree() {
  local sources
  sources=$(cd tree && find . -name '*.c' | sed 's|^\./||' | tr '\n' ' ')
  make -s -C tree every-object C_FILES="$sources"
}
