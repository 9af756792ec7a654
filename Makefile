# SPDX-License-Identifier: GPL-3.0-or-later
# The build of everything. A file that is added to a directory is found by its name:
#   PART/*.c, PART/*/*.c   the library or the programs of a part: sort, partition, gensort, bench
# and, in PART/tests and PART/*/tests:
#   test_*.c|sh  run by `make check`       (no network, no root, no mpirun)
#   mpi_*.sh     run by `make check-mpi`
#   long_*.sh    run by `make check-long`
#   slurm_*.sh   run by `make check-slurm`
#   fuzz_*.c     libFuzzer targets, with their corpus in corpus/NAME/; `make check` replays the corpus,
#                `make fuzz` searches for new inputs
#   fault_*.c    programs of the build with failpoints (FAILPOINTS=1)
# The quickest loop: `make check/sort/kernel` builds and runs the tests of one directory,
# `make check TESTS=sort/cli/tests/test_options.c` those that are named.
# The tests are in scripts/check.mk, the benchmarks in bench/bench.mk, `make install` and releases in scripts/install.mk.

VERSION := $(shell cat VERSION)
SOMAJOR := $(firstword $(subst ., ,$(VERSION)))
comma   := ,

CFLAGS  ?= -O2 -g
PEER_CXXFLAGS ?= -O3 -march=native
MPICC   ?= mpicc
PREFIX  ?= /usr/local
PROGDIR  = bin
MPI     ?= $(if $(shell command -v $(MPICC) 2>/dev/null),yes,no)
# macOS names and links shared libraries differently: static only.
SHARED  ?= $(if $(filter Darwin,$(shell uname -s)),no,yes)
LINUX   := $(filter Linux,$(shell uname -s))
OBJCOPY ?= objcopy
PKG_CONFIG ?= pkg-config

pkg      = $(shell $(PKG_CONFIG) $(1) $(2) 2>/dev/null)
# The archive of a library, if it exists: a shared library would be loaded at every start.
archive  = $(or $(filter /%,$(shell $(CC) -print-file-name=lib$(1).a)),$(2))

WARN     = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla \
           -Wwrite-strings -Wformat=2 -Wundef
NEEDED   = -std=c11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DHETSORT_VERSION='"$(VERSION)"' -fPIC \
           -fvisibility=hidden -pthread $(WARN)

# Libraries. isa-l computes the CRC of records, or zlib does it: the same polynomial, slower. HWLOC=no builds without
# NUMA nodes.
ISAL    := $(if $(call pkg,--libs,libisal),yes,no)
HWLOC   := $(if $(call pkg,--libs,'hwloc >= 2.0'),yes,no)
CRC_CFLAGS = $(if $(filter yes,$(ISAL)),-DHAVE_ISAL $(call pkg,--cflags,libisal))
CRC_LIBS   = $(if $(filter yes,$(ISAL)),$(call pkg,--libs,libisal),-lz)
HWLOC_CFLAGS = $(if $(filter yes,$(HWLOC)),-DHAVE_HWLOC $(call pkg,--cflags,hwloc))
HWLOC_LIBS   = $(if $(filter yes,$(HWLOC)),$(call pkg,--libs,hwloc))
GSL_CFLAGS := $(call pkg,--cflags,gsl)
GSL_LIBS   := $(or $(call pkg,--libs,gsl),-lgsl -lgslcblas -lm)
GLPK_LIBS   = -lglpk
JSON_LIBS   = $(call archive,jansson,$(or $(call pkg,--libs,jansson),-ljansson))
XXH_LIBS   := $(or $(call pkg,--libs,libxxhash),-lxxhash)
TEST_LIBS  := $(or $(call pkg,--libs,cmocka),-lcmocka)
# GLPK, GSL and hwloc are loaded at their first use: only tests that call them are linked with them.
PART_LIBS   = -ldl -lm
SORT_LIBS   = $(PART_LIBS) $(JSON_LIBS) $(XXH_LIBS)

# With FAILPOINTS=1 every system call of the sorter can be made to fail (sort/testing/failpoint.h).
ifeq ($(FAILPOINTS),1)
FAILCALLS = sort/testing/failcalls.h
NEEDED  += -DHETSORT_FAILPOINTS -include $(FAILCALLS)
endif

# Objects live in build/<hash of everything that shapes them>, so two builds never mix.
FLAGS   := $(CC) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS) $(NEEDED) $(ISAL) $(HWLOC) $(MPI) $(if $(filter yes,$(MPI)),$(MPICC)) \
           $(CXX) $(PEER_CXXFLAGS)
OBJ     := build/$(shell printf '%s' "$(subst ",,$(FLAGS))" | cksum | cut -d' ' -f1)

ifneq ($(V),1)
Q := @
endif
say = @printf '  %-6s %s\n' $(1) $(2)

WITH_MPI := $(filter yes,$(MPI))
MPIWRAP  = OMPI_CC="$(CC)" MPICH_CC="$(CC)" $(MPICC)
LINK     = $(CC) -pthread $(CFLAGS) $(LDFLAGS)
LINKMPI  = $(if $(WITH_MPI),$(MPIWRAP) -pthread $(CFLAGS) $(LDFLAGS),$(LINK))

# --------------------------------------------------------------------------------------- sources
objs = $(patsubst %.c,$(OBJ)/%.o,$(1))

SORT_DIRS := $(filter-out $(addprefix sort/,tests man pkg examples include fortran sim),$(patsubst %/,%,$(wildcard sort/*/)))
SORT_ALL := $(wildcard sort/*.c $(addsuffix /*.c,$(SORT_DIRS)))
SORT_MPI := $(filter %/comm_mpi.c %/comm_mpi_run.c %/api_mpi.c,$(SORT_ALL))
# Files outside the sorter's archive: main functions, the plug-in, and a file that only libhetsort contains.
SORT_OWN := sort/main.c sort/report/main.c sort/comm/mpi_plugin.c sort/lib/uncounted.c
SORT_SRC := $(filter-out $(SORT_OWN) $(if $(WITH_MPI),,$(SORT_MPI)) $(if $(FAILPOINTS),,%/failpoint.c),$(SORT_ALL))
# hetsim is all of hetsort, with calls that sort/sim marks as WRAPPED replaced.
SIM_SRC  := $(if $(LINUX),$(wildcard sort/sim/*.c))
wrapped   = $(addprefix -Wl$(comma)--wrap=,$(shell sed -n 's/^WRAPPED.[^,]*, \([a-z0-9_]*\),.*/\1/p' $(1)))

PART_SRC := $(wildcard $(patsubst %,partition/%/*.c,base unrelated share scatter chain online farm))
PLAN_SRC := $(wildcard $(patsubst %,partition/%/*.c,hetplan/request hetplan/ops hetplan/display hetplan))
PMPI_SRC := $(wildcard partition/mpi/*.c)
GEN_SRC  := $(wildcard gensort/gen*.c gensort/crc.c)
VAL_SRC  := $(wildcard gensort/val*.c gensort/crc.c)
BURN_SRC := $(if $(LINUX),$(wildcard bench/cpuburn/*.c))

# Libraries. sort.a is all of the sorter, for its programs and tests; libhetsort is what its public calls need of it.
# hetsort runs over MPI by a plug-in, one for each MPI. It is linked with MPI where there are no shared libraries, and
# with failpoints, as calls in a plug-in would not be counted.
LIBSORT  := $(OBJ)/sort.a
LIBPART  := $(OBJ)/libhetpart.a
LIBPMPI  := $(if $(WITH_MPI),$(OBJ)/libhetpart_mpi.a)
SONAME   := libhetpart.so.$(SOMAJOR)
SOFILE   := libhetpart.so.$(VERSION)
SORTSO   := libhetsort.so.$(VERSION)
MPISONAME := libhetpart_mpi.so.$(SOMAJOR)
MPISOFILE := libhetpart_mpi.so.$(VERSION)
shared    = $(if $(filter yes,$(SHARED)),$(1))
SOLINKS  := $(call shared,$(OBJ)/libhetpart.so $(OBJ)/$(SONAME))
SORTLINK := $(call shared,$(OBJ)/libhetsort.so $(OBJ)/libhetsort.so.$(SOMAJOR))
MPISOLINKS := $(if $(WITH_MPI),$(call shared,$(OBJ)/libhetpart_mpi.so $(OBJ)/$(MPISONAME)))
LIBPARTS := $(LIBPART) $(call shared,$(OBJ)/$(SOFILE))
LIBPMPIS := $(LIBPMPI) $(if $(MPISOLINKS),$(OBJ)/$(MPISOFILE))
SORTLIBS := $(OBJ)/libhetsort.a $(call shared,$(OBJ)/$(SORTSO))
MPI_WORD := $(if $(WITH_MPI),$(if $(shell printf '\043include <mpi.h>\n' | $(MPICC) -E -dM -x c - 2>/dev/null | \
              grep -w OPEN_MPI),openmpi,mpich))
PLUGIN   := $(call shared,$(if $(MPI_WORD),$(if $(FAILPOINTS),,libhetsort-$(MPI_WORD).so)))
PROGRAMS := $(if $(GEN_SRC),gensort) $(if $(VAL_SRC),valsort) $(if $(PLAN_SRC),hetplan) \
            $(if $(wildcard sort/main.c),hetsort hetsort-report) $(if $(SIM_SRC),hetsim) $(if $(BURN_SRC),cpuburn)

# Tests, and what they start.
PARTS    := gensort partition sort bench
in_tests  = $(foreach r,$(1),$(wildcard $(r)/tests/$(2) $(r)/*/tests/$(2)))
TESTS_C  := $(call in_tests,$(PARTS),test_*.c)
TESTS_SH := $(call in_tests,$(PARTS) python scripts,test_*.sh)
MPI_SH   := $(call in_tests,$(PARTS) python,mpi_*.sh)
LONG_SH  := $(call in_tests,$(PARTS) scripts,long_*.sh)
SLURM_SH := $(call in_tests,scripts,slurm_*.sh)
FUZZ_C   := $(call in_tests,$(PARTS),fuzz_*.c)
FAULT_C  := $(call in_tests,sort,fault_*.c)
TESTS_X  := $(patsubst %.c,$(OBJ)/%,$(TESTS_C))
FUZZ_X   := $(patsubst %.c,$(OBJ)/%,$(FUZZ_C))
# Programs of the tests over MPI: clients of libhetpart_mpi with its examples, and clients of libhetsort.
PMPI_X   := $(if $(WITH_MPI),$(patsubst %.c,$(OBJ)/%,$(wildcard partition/mpi/tests/*.c partition/mpi/examples/*.c)))
SMPI_X   := $(if $(WITH_MPI),$(patsubst %.c,$(OBJ)/%,$(wildcard sort/lib/tests/mpi/*.c)))
SHIMS    := $(if $(LINUX),$(OBJ)/shim.so $(if $(WITH_MPI),$(OBJ)/mpi-shim.so))
SCATTERX := $(if $(WITH_MPI),$(PROGDIR)/bench/scatter_client)
LIBBENCH := $(if $(SMPI_X),$(OBJ)/bench/library_bench)
BENCH_X  := $(addprefix $(PROGDIR)/bench/,floor records build.json $(if $(shell command -v $(CXX) 2>/dev/null),peers))

# Each goal that `make help` shows is a task, not a file.
PARTS_OF_BUILD := Makefile scripts/check.mk bench/bench.mk scripts/install.mk
.PHONY: $(shell sed -n 's/^\([a-z][a-z -]*\):.*  \#\# .*/\1/p' $(PARTS_OF_BUILD)) objects every-object wheel-libraries failpoints FORCE
.DELETE_ON_ERROR:
.SECONDARY:

# Headers of other libraries, looked for once in each build directory, so that the build reports a missing one at once.
HAS_PART = $(addprefix $(OBJ)/has/,glpk.h gsl/gsl_sf_lambert.h)
HAS_PLAN = $(OBJ)/has/jansson.h
HAS_SORT = $(addprefix $(OBJ)/has/,jansson.h xxhash.h)
HAS_GEN  = $(if $(filter yes,$(ISAL)),,$(OBJ)/has/zlib.h)
HAS_TEST = $(OBJ)/has/cmocka.h
HAS      = $(sort $(HAS_PART) $(HAS_PLAN) $(HAS_SORT) $(HAS_GEN))
# A missing one must be phony, or make would treat it as an intermediate file and look for it last.
.PHONY: $(filter-out $(wildcard $(HAS) $(HAS_TEST)),$(HAS) $(HAS_TEST))

all: $(HAS) $(addprefix $(PROGDIR)/,$(PROGRAMS) $(PLUGIN)) lib $(SORTLIBS) $(SORTLINK)  ## build the programs (bin/) and libraries

lib: $(HAS_PART) $(LIBPARTS) $(SOLINKS) $(LIBPMPIS) $(MPISOLINKS)  ## build only the planner's libraries

# For python/_wheel.py: each library under the name by which it is loaded.
wheel-libraries: $(HAS_PART) $(HAS_SORT) $(SOLINKS) $(SORTLINK)
	$(Q)mkdir -p '$(WHEELDIR)' && cp -L $(OBJ)/$(SONAME) $(OBJ)/libhetsort.so.$(SOMAJOR) '$(WHEELDIR)'

$(HAS) $(HAS_TEST): $(OBJ)/has/%:
	@mkdir -p $(@D)
	$(Q)command -v $(firstword $(CC)) >/dev/null 2>&1 || { echo "make: no compiler '$(CC)' here; run scripts/deps" >&2; exit 1; }
	$(Q)printf '#include <%s>\n' stdarg.h stdint.h setjmp.h $* | $(CC) $(NEEDED) $(CPPFLAGS) $(CFLAGS) $(GSL_CFLAGS) -E -x c - >/dev/null 2>&1 || \
	  { echo "make: no header '$*' here; run scripts/deps, which installs what is missing" >&2; exit 1; }
	@touch $@
$(call objs,$(PART_SRC)): | $(HAS_PART)
$(call objs,$(PLAN_SRC)): | $(HAS_PLAN)
$(call objs,$(SORT_SRC) $(SIM_SRC) sort/main.c sort/report/main.c): | $(HAS_SORT)
$(call objs,$(GEN_SRC) $(VAL_SRC)): | $(HAS_GEN)
$(TESTS_X:=.o): | $(HAS_TEST)

# Objects of programs and libraries, for scripts/analyze.
objects: $(call objs,$(sort $(GEN_SRC) $(VAL_SRC)) $(PART_SRC) $(PLAN_SRC) $(PMPI_SRC) $(SORT_SRC) $(SIM_SRC) $(SORT_OWN) $(BURN_SRC))

# The objects of C_FILES: scripts/include-graph asks with -n which are not up to date.
every-object: $(call objs,$(C_FILES))
	$(Q): objects are in $(OBJ)

# For clangd and other tools: the command that compiles each file.
compile_commands.json: FORCE  ## how each file is compiled, for clangd
	$(Q)$(MAKE) -nB --no-print-directory V=1 every-object C_FILES="$$(scripts/tracked-files | grep '\.c$$' | grep -v '/tests/mpi/' | tr '\n' ' ')" | \
	  awk -v dir="$$PWD" -f scripts/compile-commands.awk >$@.tmp && mv -f $@.tmp $@

# ------------------------------------------------------------------------------------- compiling
PART_INC := -iquote partition -iquote partition/number/include -Ipartition/include
SORT_INC := -iquote sort -iquote partition/number/include -Isort/include -Ipartition/include
PMPI_INC := -iquote partition/number/include -Ipartition/mpi/include -Ipartition/include

$(OBJ)/gensort/%:       EXTRA = -iquote gensort -iquote partition/number/include $(CRC_CFLAGS)
$(OBJ)/partition/%:     EXTRA = $(PART_INC) $(GSL_CFLAGS)
$(OBJ)/partition/mpi/%: EXTRA = $(PMPI_INC)
$(OBJ)/sort/%:          EXTRA = $(SORT_INC) $(HWLOC_CFLAGS) $(if $(WITH_MPI),-DHAVE_MPI)
$(OBJ)/sort/comm/launcher.o: EXTRA += $(if $(PLUGIN),-DHETSORT_MPI_PLUGIN -DHETSORT_MULTIARCH='"$(shell $(CC) -print-multiarch 2>/dev/null)"')
$(OBJ)/sort/lib/tests/mpi/%: EXTRA = -Isort/include -Ipartition/mpi/tests $(PMPI_INC)

# Files that include <mpi.h> are compiled by the wrapper.
$(call objs,$(SORT_MPI) $(PMPI_SRC)) $(PMPI_X:=.o) $(SMPI_X:=.o): COMPILER = $(MPIWRAP)
COMPILER = $(CC)
COMPILE = $(COMPILER) $(NEEDED) $(CPPFLAGS) $(CFLAGS) -MMD -MP
$(OBJ)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,$(if $(filter $(MPICC),$(COMPILER)),MPICC,CC),$<)
	$(Q)$(COMPILE) $(EXTRA) -c -o $@ $<

# The build, as --version -v and reports describe it.
SAID     = $(CC) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS)
BUILD    = $(strip $(subst \,,$(subst ",,$(subst ',,$(SAID))))), MPI $(MPI), hwloc $(HWLOC)
$(OBJ)/sort/cli/report_json.o: NEEDED += -DHETSORT_BUILD='"$(BUILD)"'
# The commit is a file of its own, so that a new commit recompiles little. Git may not know it for the user who
# installs. The rule also runs with -n (+), or make would always take the file to be new.
$(OBJ)/commit: FORCE
	+$(Q)mkdir -p $(@D); c=$$(scripts/commit) was=$$(cat $@ 2>/dev/null); c=$${c:-unknown}; [ -n "$$was" ] && [ "$$c" = unknown ] || [ "$$c" = "$$was" ] || echo "$$c" >$@
$(OBJ)/sort/main.o: $(OBJ)/commit
$(OBJ)/sort/main.o: NEEDED += -DHETSORT_COMMIT='"$(shell cat $(OBJ)/commit 2>/dev/null)"'

# Pages for browsers: a template, its style and its scripts as strings of C.
PAGES     = $(addprefix $(OBJ)/,sort/report/report_page partition/hetplan/display/plan_page)
$(OBJ)/sort/report/report_page.c: $(addprefix sort/report/,compare.js report.js)
$(OBJ)/partition/hetplan/display/plan_page.c: partition/hetplan/display/plan.js
$(PAGES:=.c): $(addprefix scripts/page/,embed.awk page.html page.css page.js)
	@mkdir -p $(@D); awk -v name=$(basename $(@F)) -v style=scripts/page/page.css -v script='scripts/page/page.js $(filter-out scripts/%,$^)' \
	  -f scripts/page/embed.awk scripts/page/page.html >$@
$(PAGES:=.o): %.o: %.c
	$(Q)$(COMPILE) -c -o $@ $<

# --------------------------------------------------------------------------------------- linking
define link
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(1) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(2)
endef
# Programs are linked in $(OBJ)/bin and copied to $(PROGDIR) if they have changed.
$(PROGDIR)/%: $(OBJ)/bin/% FORCE
	@mkdir -p $(@D); cmp -s $< $@ || { cp -f $< $@.tmp && mv -f $@.tmp $@; }

$(LIBSORT): $(call objs,$(SORT_SRC)) $(OBJ)/sort/report/report_page.o
$(LIBPART): $(call objs,$(PART_SRC))
$(OBJ)/libhetpart_mpi.a: $(call objs,$(PMPI_SRC))
# libhetsort is one object, so that its inner names are invisible and cannot clash.
$(OBJ)/libhetsort.o: $(call objs,$(filter %/api.c %/api_mpi.c,$(SORT_SRC)) sort/lib/uncounted.c) $(LIBSORT)
	$(Q)$(LD) -r -o $@ $^ && $(OBJCOPY) --localize-hidden $@
$(OBJ)/libhetsort.a: $(OBJ)/libhetsort.o
$(OBJ)/%.a:
	$(call say,AR,$@)
	$(Q)rm -f $@; $(AR) rcs $@ $^

# No symbol may stay undefined, except with sanitizers, whose library comes with the program. Shared libraries find
# libhetpart in their own directory.
STRICT    = $(if $(findstring -fsanitize,$(CFLAGS)),,-Wl$(comma)-z$(comma)defs)
soflags   = -shared -Wl,-soname,$(1) -Wl,--version-script=$(2) $(STRICT)
ORIGIN    = -Wl$(comma)-rpath$(comma)'$$ORIGIN' -L$(OBJ) -lhetpart -lm
$(OBJ)/$(SOFILE): $(call objs,$(PART_SRC)) partition/hetpart.map
	$(call link,$(LINK) $(call soflags,$(SONAME),partition/hetpart.map),$(PART_LIBS))
$(OBJ)/$(MPISOFILE): $(call objs,$(PMPI_SRC)) partition/mpi/hetpart_mpi.map $(SOLINKS)
	$(call link,$(LINKMPI) $(call soflags,$(MPISONAME),partition/mpi/hetpart_mpi.map),$(ORIGIN))
$(OBJ)/$(SORTSO): $(OBJ)/libhetsort.o sort/lib/hetsort.map $(OBJ)/$(SOFILE) $(SOLINKS)
	$(call link,$(LINKMPI) $(call soflags,libhetsort.so.$(SOMAJOR),sort/lib/hetsort.map) -Wl$(comma)--as-needed,$(ORIGIN))
$(SOLINKS): $(OBJ)/$(SOFILE)
$(MPISOLINKS): $(OBJ)/$(MPISOFILE)
$(SORTLINK): $(OBJ)/$(SORTSO)
$(SOLINKS) $(MPISOLINKS) $(SORTLINK):
	$(Q)ln -sf $(<F) $@

$(OBJ)/bin/gensort: $(call objs,$(GEN_SRC))
	$(call link,$(LINK),$(CRC_LIBS))
$(OBJ)/bin/valsort: $(call objs,$(VAL_SRC))
	$(call link,$(LINK),$(CRC_LIBS))
PLAN_PAGE = $(OBJ)/partition/hetplan/display/plan_page.o
$(OBJ)/bin/hetplan: $(call objs,$(PLAN_SRC)) $(PLAN_PAGE) $(LIBPART)
	$(call link,$(LINK),$(PART_LIBS) $(JSON_LIBS))
$(OBJ)/bin/cpuburn: $(call objs,$(BURN_SRC))
	$(call link,$(LINK),-lm)

$(OBJ)/bin/hetsort: $(OBJ)/sort/main.o
$(OBJ)/bin/hetsort-report: $(OBJ)/sort/report/main.o
$(OBJ)/bin/hetsim: $(call objs,sort/main.c $(SIM_SRC))
$(OBJ)/bin/hetsim: WRAPPED = $(call wrapped,$(SIM_SRC))
# To find all functions at the start is faster than each at its first use, and makes their table read-only.
$(addprefix $(OBJ)/bin/,hetsort hetsort-report hetsim): $(LIBSORT) $(LIBPART)
	$(call link,$(if $(PLUGIN),$(LINK),$(LINKMPI)) $(if $(LINUX),-Wl$(comma)-z$(comma)relro$(comma)-z$(comma)now) $(WRAPPED),$(SORT_LIBS))
$(OBJ)/bin/libhetsort-%.so: $(call objs,$(addprefix sort/comm/,mpi_plugin.c comm_mpi.c comm_mpi_run.c) sort/base/status.c)
	$(call link,$(LINKMPI) -shared $(STRICT))

# A test program is linked with the code of its part, without the main() of its program.
x_of = $(filter $(OBJ)/$(1)/%,$(TESTS_X) $(FUZZ_X))
$(call x_of,gensort): %: %.o $(call objs,$(sort $(filter-out gensort/gensort.c gensort/valsort.c,$(GEN_SRC) $(VAL_SRC))))
	$(call link,$(LINK),$(CRC_LIBS) $(TEST_LIBS))
$(call x_of,partition): %: %.o $(call objs,$(filter-out partition/hetplan/main.c,$(PLAN_SRC))) $(PLAN_PAGE) $(LIBPART)
	$(call link,$(LINK),$(WITH_SHIM) $(PART_LIBS) -Wl$(comma)--as-needed $(GLPK_LIBS) $(GSL_LIBS) $(JSON_LIBS) $(TEST_LIBS))
$(call x_of,sort): %: %.o $(LIBSORT) $(LIBPART)
	$(call link,$(LINKMPI),$(WITH_SHIM) $(SORT_LIBS) $(TEST_LIBS))
$(call x_of,bench): %: %.o
	$(call link,$(LINK),$(TEST_LIBS) -lm)
# Tests of the simulation are linked with its modules that wrap no call; test_numa counts calls of hwloc, so hwloc must
# be loaded before.
$(call x_of,sort/sim): $(patsubst %,$(OBJ)/sort/sim/%.o,platform engine events network)
$(OBJ)/sort/base/tests/test_numa: TEST_LIBS += $(HWLOC_LIBS)
$(PMPI_X): %: %.o $(LIBPMPI) $(LIBPART)
$(SMPI_X): %: %.o $(OBJ)/libhetsort.a $(LIBPART)
$(PMPI_X) $(SMPI_X):
	$(call link,$(LINKMPI),$(WITH_SHIM) $(PART_LIBS))
$(addprefix $(OBJ)/bin/,$(notdir $(FAULT_C:.c=))): $(LIBSORT) $(LIBPART)
	$(call link,$(LINKMPI),$(SORT_LIBS))
$(foreach f,$(FAULT_C),$(eval $(OBJ)/bin/$(notdir $(f:.c=)): $(OBJ)/$(f:.c=.o)))
$(if $(FAILPOINTS),$(call objs,$(PART_SRC) $(SORT_SRC) $(FAULT_C) sort/main.c): $(FAILCALLS))

# scripts/fuzz-main.c starts a fuzzer on its corpus. scripts/fuzz sets FUZZ_MAIN to nothing, so that libFuzzer does it.
FUZZ_MAIN = $(OBJ)/scripts/fuzz-main.o
$(FUZZ_X): $(FUZZ_MAIN)

# The shim makes system calls fail in tests; mpi-shim.so also calls of MPI. test_oom and oom_test are linked with it: it
# counts and refuses their allocations.
$(SHIMS): scripts/shim.c scripts/shim.h scripts/shim-mpi.h
	@mkdir -p $(@D)
	$(Q)$(if $(filter %/mpi-shim.so,$@),$(MPIWRAP) -DSHIM_MPI,$(CC)) -I. -D_GNU_SOURCE -O1 $(WARN) -shared -fPIC -Wl,-soname,$(@F) -o $@ $< -ldl
OOM_X    := $(filter %/test_oom %/oom_test,$(TESTS_X) $(PMPI_X) $(SMPI_X))
$(OOM_X): $(firstword $(SHIMS))
$(OOM_X): WITH_SHIM = $(if $(SHIMS),$(OBJ)/shim.so -Wl$(comma)-rpath$(comma)'$$ORIGIN/../..:$$ORIGIN/../../..:$$ORIGIN/../../../..')

# ----------------------------------------------------------------------------------------- tools
coverage:  ## lines and branches that the tests run, as a table and HTML (gcovr)
	$(Q)scripts/coverage

analyze:  ## clang-tidy and cppcheck over programs and libraries
	$(Q)scripts/analyze

lint:  ## format, spelling, English, shell scripts, man pages, layers
	$(Q)scripts/lint

figures:  ## lines, headers, functions used once, shared names, parameters, complexity
	$(Q)scripts/code-figures

graph:  ## the directories and what they include of each other (ARGS=--svg: as a picture)
	$(Q)scripts/include-graph $(ARGS)

picture: all  ## docs/compare.png, a page of two simulated jobs (chromium)
	$(Q)scripts/page/compare-picture docs/compare.png

format:  ## let clang-format rewrite the sources
	$(Q)clang-format -i $$(git ls-files '*.c' '*.h')

clean:  ## remove build/ and bin/
	rm -rf build bin

help:  ## this text
	@awk -F ':.*## ' '/^[a-z_. -]+:.*## /{n = split($$1, names, " "); for (i = 1; i <= n; i++) printf "  %-21s %s\n", names[i], $$2}' \
		$(PARTS_OF_BUILD)

-include $(wildcard $(OBJ)/*/*.d $(OBJ)/*/*/*.d $(OBJ)/*/*/*/*.d $(OBJ)/*/*/*/*/*.d)
include $(filter-out Makefile,$(PARTS_OF_BUILD))
