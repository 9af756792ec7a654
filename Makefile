# SPDX-License-Identifier: GPL-3.0-or-later
# One Makefile for all rooms. A file that is added to a room is found by its name:
#   ROOM/*.c, ROOM/*/*.c   the room's library or programs
# and, in ROOM/tests and ROOM/*/tests:
#   test_*.c|sh  run by `make check`       (no network, no root, no mpirun)
#   mpi_*.sh     run by `make check-mpi`
#   long_*.sh    run by `make check-long`
#   slurm_*.sh   run by `make check-slurm`
#   smpi_*.sh    run by `make check-smpi`
#   fuzz_*.c     libFuzzer targets, corpus in corpus/NAME/ beside them; `make check` replays the
#                corpus, `make fuzz` searches
#   fault_*.c    programs of the build with failpoints (FAILPOINTS=1)

VERSION := $(shell cat VERSION)
SOMAJOR := $(firstword $(subst ., ,$(VERSION)))

CFLAGS  ?= -O2 -g
PEER_CXXFLAGS ?= -O3 -march=native
MPICC   ?= mpicc
PREFIX  ?= /usr/local
PROGDIR  = bin
MPI     ?= $(if $(shell command -v $(MPICC) 2>/dev/null),yes,no)
PKG_CONFIG ?= pkg-config
pkg      = $(shell $(PKG_CONFIG) $(1) $(2) 2>/dev/null)
# The archive of a library, if it exists: each start would load the shared library.
archive  = $(or $(filter /%,$(shell $(CC) -print-file-name=lib$(1).a)),$(2))

# What --version -v and reports tell of the build.
TOLD     = $(CC) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS)
BUILD    = $(strip $(subst \,,$(subst ",,$(subst ',,$(TOLD))))), MPI $(MPI), io_uring $(URING), hwloc $(HWLOC)

WARN     = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla \
           -Wwrite-strings -Wformat=2 -Wundef
NEEDED   = -std=c11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DHETSORT_VERSION='"$(VERSION)"' -fPIC \
           -fvisibility=hidden -pthread $(WARN)

# The CRC of records: isa-l where it is there, zlib otherwise (same polynomial, slower).
ISAL    := $(if $(call pkg,--libs,libisal),yes,no)
CRC_LIBS   = $(if $(filter yes,$(ISAL)),$(call pkg,--libs,libisal),-lz)
CRC_CFLAGS = $(if $(filter yes,$(ISAL)),-DHAVE_ISAL $(call pkg,--cflags,libisal))

# io_uring, beside threads; URING=no leaves it out.
URING   := $(if $(call pkg,--libs,liburing),yes,no)
URING_CFLAGS = $(if $(filter yes,$(URING)),-DHAVE_URING $(call pkg,--cflags,liburing))
URING_LIBS   = $(if $(filter yes,$(URING)),$(call archive,uring,$(call pkg,--libs,liburing)))

# NUMA nodes, and binding to them; HWLOC=no leaves it out.
HWLOC   := $(if $(call pkg,--libs,'hwloc >= 2.0'),yes,no)
HWLOC_CFLAGS = $(if $(filter yes,$(HWLOC)),-DHAVE_HWLOC $(call pkg,--cflags,hwloc))
HWLOC_LIBS   = $(if $(filter yes,$(HWLOC)),$(call pkg,--libs,hwloc))

GSL_CFLAGS := $(call pkg,--cflags,gsl)
GSL_LIBS   := $(or $(call pkg,--libs,gsl),-lgsl -lgslcblas -lm)
GLPK_LIBS   = -lglpk
JSON_LIBS   = $(call archive,jansson,$(or $(call pkg,--libs,jansson),-ljansson))
XXH_LIBS   := $(or $(call pkg,--libs,libxxhash),-lxxhash)
TEST_LIBS  := $(or $(call pkg,--libs,cmocka),-lcmocka)

comma   := ,

# Faults on demand (sort/testing/failpoint.h), for tests: each call of the system that the sorter makes has a point.
ifeq ($(FAILPOINTS),1)
FAILCALLS = sort/testing/failcalls.h
NEEDED  += -DHETSORT_FAILPOINTS -include $(FAILCALLS)
endif

# Objects live in build/<hash of everything that shapes them>, so two builds never mix.
FLAGS   := $(CC) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS) $(NEEDED) $(ISAL) $(URING) $(HWLOC) $(MPI) $(if $(filter yes,$(MPI)),$(MPICC)) \
           $(CXX) $(PEER_CXXFLAGS)
OBJ     := build/$(shell printf '%s' "$(subst ",,$(FLAGS))" | cksum | cut -d' ' -f1)

ifeq ($(V),1)
Q :=
else
Q := @
endif
say = @printf '  %-6s %s\n' $(1) $(2)

$(OBJ)/sort/cli/report_json.o: NEEDED += -DHETSORT_BUILD='"$(BUILD)"'

COMPILE = $(CC) $(NEEDED) $(CPPFLAGS) $(CFLAGS) -MMD -MP
MPIWRAP = OMPI_CC="$(CC)" MPICH_CC="$(CC)" $(MPICC)
LINK    = $(CC) -pthread $(CFLAGS) $(LDFLAGS)
LINKMPI = $(if $(filter yes,$(MPI)),$(MPIWRAP) -pthread $(CFLAGS) $(LDFLAGS),$(LINK))

# ---------------------------------------------------------------------------------------- rooms
objs = $(patsubst %.c,$(OBJ)/%.o,$(1))

# The folders of the sorter, but for those that hold no code of it.
SORT_DIRS := $(filter-out $(addprefix sort/,tests man pkg examples include fortran sim),$(patsubst %/,%,$(wildcard sort/*/)))

# The folders of the planner, each above those that it may use.
PART_SRC := $(wildcard $(patsubst %,partition/%/*.c,base unrelated share scatter chain online farm))
PLAN_SRC := $(wildcard $(patsubst %,partition/%/*.c,hetplan/request hetplan/ops hetplan/display hetplan))
PMPI_SRC := $(wildcard partition/mpi/*.c)
GEN_SRC  := $(wildcard gensort/gen*.c gensort/crc.c)
VAL_SRC  := $(wildcard gensort/val*.c gensort/crc.c)
SORT_ALL := $(wildcard sort/*.c $(addsuffix /*.c,$(SORT_DIRS)))
SORT_MPI := $(filter %/comm_mpi.c %/comm_mpi_run.c %/api_mpi.c,$(SORT_ALL))
SORT_SRC := $(filter-out sort/main.c sort/report/main.c sort/comm/mpi_plugin.c sort/lib/uncounted.c $(SORT_MPI) $(if $(FAILPOINTS),,%/failpoint.c),$(SORT_ALL)) \
            $(if $(filter yes,$(MPI)),$(SORT_MPI))

# hetsim: all of hetsort, in which calls that sort/sim marks as WRAPPED go there first.
SIM_SRC  := $(if $(filter Linux,$(shell uname -s)),$(wildcard sort/sim/*.c))

# The same as a program of SimGrid's SMPI, in a build of its own without MPI: hosts, work and threads are those of
# hetsim, clock and messages SimGrid's.
SMPICC   ?= smpicc
GRID_SRC := $(wildcard sort/sim/smpi/*.c)
GRID_SIM  = $(addprefix sort/sim/,platform.c polling.c scale.c threads.c work.c) $(GRID_SRC)
wrapped   = $(addprefix -Wl$(comma)--wrap=,$(shell sed -n 's/^WRAPPED.[^,]*, \([a-z0-9_]*\),.*/\1/p' $(1)))

# What cpuburn stands on (affinity, scheduling, control groups) is Linux's.
BURN_SRC := $(if $(filter Linux,$(shell uname -s)),$(wildcard bench/cpuburn/*.c))

LIBPART  := $(OBJ)/libhetpart.a
LIBPMPI  := $(if $(filter yes,$(MPI)),$(OBJ)/libhetpart_mpi.a)
# The shared library of the same objects. macOS names and links such a thing differently: static only.
SHARED   ?= $(if $(filter Darwin,$(shell uname -s)),no,yes)
SONAME   := libhetpart.so.$(SOMAJOR)
SOFILE   := libhetpart.so.$(VERSION)
SOLINKS  := $(if $(filter yes,$(SHARED)),$(OBJ)/libhetpart.so $(OBJ)/$(SONAME))
LIBPARTS := $(LIBPART) $(if $(filter yes,$(SHARED)),$(OBJ)/$(SOFILE))
# The same of libhetpart_mpi, which calls the shared libhetpart beside it.
MPISONAME := libhetpart_mpi.so.$(SOMAJOR)
MPISOFILE := libhetpart_mpi.so.$(VERSION)
MPISOLINKS := $(if $(LIBPMPI),$(if $(filter yes,$(SHARED)),$(OBJ)/libhetpart_mpi.so $(OBJ)/$(MPISONAME)))
LIBPMPIS := $(LIBPMPI) $(if $(MPISOLINKS),$(OBJ)/$(MPISOFILE))
# The plug-in by which hetsort runs over MPI: one for each MPI. Without shared libraries, and with failpoints, whose
# counts must be those of the program, hetsort is linked with MPI.
MPI_WORD := $(if $(filter yes,$(MPI)),$(if $(shell printf '\043include <mpi.h>\n' | $(MPICC) -E -dM -x c - 2>/dev/null | \
              grep -w OPEN_MPI),openmpi,mpich))
PLUGIN   := $(if $(filter yes,$(SHARED)),$(if $(MPI_WORD),$(if $(FAILPOINTS),,libhetsort-$(MPI_WORD).so)))
# All of the sorter for its program and tests; libhetsort is what the public calls need of it.
LIBSORT  := $(OBJ)/sort.a
SORTSO   := libhetsort.so.$(VERSION)
SORTLINK := $(if $(filter yes,$(SHARED)),$(OBJ)/libhetsort.so $(OBJ)/libhetsort.so.$(SOMAJOR))
SORTLIBS := $(OBJ)/libhetsort.a $(if $(filter yes,$(SHARED)),$(OBJ)/$(SORTSO))
PROGRAMS := $(if $(GEN_SRC),gensort) $(if $(VAL_SRC),valsort) $(if $(PLAN_SRC),hetplan) \
            $(if $(wildcard sort/main.c),hetsort hetsort-report) $(if $(SIM_SRC),hetsim) $(if $(BURN_SRC),cpuburn)

ROOMS    := gensort partition sort bench
in_tests  = $(foreach r,$(1),$(wildcard $(r)/tests/$(2) $(r)/*/tests/$(2)))
TESTS_C  := $(call in_tests,$(ROOMS),test_*.c)
TESTS_SH := $(call in_tests,$(ROOMS) python scripts,test_*.sh)
MPI_SH   := $(call in_tests,$(ROOMS) python,mpi_*.sh)
LONG_SH  := $(call in_tests,$(ROOMS) scripts,long_*.sh)
SLURM_SH := $(call in_tests,scripts,slurm_*.sh)
GRID_SH  := $(call in_tests,sort,smpi_*.sh)
FUZZ_C   := $(call in_tests,$(ROOMS),fuzz_*.c)
TESTS_X  := $(patsubst %.c,$(OBJ)/%,$(TESTS_C))
FUZZ_X   := $(patsubst %.c,$(OBJ)/%,$(FUZZ_C))
PART_X   := $(filter $(OBJ)/partition/%,$(TESTS_X) $(FUZZ_X))
# What starts a fuzzer: scripts/fuzz has libFuzzer do it, and leaves this empty.
FUZZ_MAIN = $(OBJ)/scripts/fuzz-main.o
# What the tests over MPI start: programs against libhetpart_mpi, and its examples.
PMPI_X   := $(if $(LIBPMPI),$(patsubst %.c,$(OBJ)/%,$(wildcard partition/mpi/tests/*.c \
            partition/mpi/examples/*.c)))

# The same of libhetsort.
SMPI_X   := $(if $(filter yes,$(MPI)),$(patsubst %.c,$(OBJ)/%,$(wildcard sort/lib/tests/mpi/*.c)))
SCATTERX := $(if $(LIBPMPI),$(PROGDIR)/bench/scatter_client)
LIBBENCH := $(if $(SMPI_X),$(OBJ)/bench/library_bench)

# What the harness in bench/ runs beside the programs.
BENCH_X  := $(addprefix $(PROGDIR)/bench/,floor records build.json \
                $(if $(shell command -v $(CXX) 2>/dev/null),peers))

# What `make help` shows is a task, not a file.
.PHONY: $(shell sed -n 's/^\([a-z][a-z -]*\):.*  \#\# .*/\1/p' Makefile) objects every-object programs-for-tests wheel-libraries \
        failpoints FORCE
.DELETE_ON_ERROR:
.SECONDARY:

# Headers of others, looked for once in each build folder: what to do is said at once, not by a compiler
# in the middle of the build.
HAS_PART = $(addprefix $(OBJ)/has/,glpk.h gsl/gsl_sf_lambert.h)
HAS_PLAN = $(OBJ)/has/jansson.h
HAS_SORT = $(addprefix $(OBJ)/has/,jansson.h xxhash.h)
HAS_GEN  = $(if $(filter yes,$(ISAL)),,$(OBJ)/has/zlib.h)
HAS_TEST = $(OBJ)/has/cmocka.h
HAS      = $(sort $(HAS_PART) $(HAS_PLAN) $(HAS_SORT) $(HAS_GEN))
# Or make puts them off, as files in between.
.PHONY: $(filter-out $(wildcard $(HAS) $(HAS_TEST)),$(HAS) $(HAS_TEST))

all: $(HAS) $(addprefix $(PROGDIR)/,$(PROGRAMS) $(PLUGIN)) lib $(SORTLIBS) $(SORTLINK)  ## build the programs (bin/) and libraries

# For python/setup.py: each library under the name by which it is loaded.
wheel-libraries: $(HAS_PART) $(HAS_SORT) $(SOLINKS) $(SORTLINK)
	$(Q)mkdir -p '$(WHEELDIR)' && cp -L $(OBJ)/$(SONAME) $(OBJ)/libhetsort.so.$(SOMAJOR) '$(WHEELDIR)'

lib: $(HAS_PART) $(LIBPARTS) $(SOLINKS) $(LIBPMPIS) $(MPISOLINKS)  ## build the planner's libraries only

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

# What programs and libraries are made of, for scripts/analyze.
objects: $(call objs,$(sort $(GEN_SRC) $(VAL_SRC)) $(PART_SRC) $(PLAN_SRC) $(PMPI_SRC) $(SORT_SRC) $(SIM_SRC) sort/main.c sort/report/main.c sort/lib/uncounted.c sort/comm/mpi_plugin.c \
           $(BURN_SRC))

# Of each file in C_FILES an object: scripts/include-graph asks, with -n, which are not up to date.
every-object: $(call objs,$(C_FILES))
	$(Q): objects are in $(OBJ)

FORCE:
$(PROGDIR)/%: $(OBJ)/bin/% FORCE
	@mkdir -p $(@D); cmp -s $< $@ || { cp -f $< $@.tmp && mv -f $@.tmp $@; }

# A file of its own, so that a new commit compiles little anew; who installs may not be known to git. With -n
# as well (+), which else takes it for new.
$(OBJ)/commit: FORCE
	+$(Q)mkdir -p $(@D); c=$$(scripts/commit) was=$$(cat $@ 2>/dev/null); c=$${c:-unknown}; [ -n "$$was" ] && [ "$$c" = unknown ] || [ "$$c" = "$$was" ] || echo "$$c" >$@
$(OBJ)/sort/main.o: $(OBJ)/commit
$(OBJ)/sort/main.o: NEEDED += -DHETSORT_COMMIT='"$(shell cat $(OBJ)/commit)"'

$(OBJ)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(COMPILE) $(EXTRA) -c -o $@ $<

$(call objs,$(sort $(GEN_SRC) $(VAL_SRC))): EXTRA = -iquote partition/number/include $(CRC_CFLAGS)
PART_INC := -iquote partition -iquote partition/number/include -Ipartition/include
$(call objs,$(PART_SRC) $(PLAN_SRC)): EXTRA = $(GSL_CFLAGS) $(PART_INC)
SORT_INC := -iquote sort -iquote partition/number/include -Isort/include -Ipartition/include
$(call objs,$(SORT_SRC) $(SIM_SRC) $(GRID_SRC) sort/main.c sort/report/main.c sort/lib/uncounted.c): EXTRA = $(SORT_INC) $(if $(filter yes,$(MPI)),-DHAVE_MPI)
$(OBJ)/sort/comm/mpi_plugin.o: EXTRA = $(SORT_INC)
$(OBJ)/sort/comm/launcher.o: EXTRA += $(if $(PLUGIN),-DHETSORT_MPI_PLUGIN -DHETSORT_MULTIARCH='"$(shell $(CC) -print-multiarch 2>/dev/null)"')
$(call objs,$(filter %/uring.c,$(SORT_SRC))): EXTRA += $(URING_CFLAGS)
$(call objs,$(filter %/numa.c,$(SORT_SRC))): EXTRA += $(HWLOC_CFLAGS)
$(PART_X:=.o): EXTRA = $(GSL_CFLAGS) $(PART_INC)
SORT_TESTS := $(filter sort/%,$(TESTS_C) $(FUZZ_C)) $(call in_tests,sort,fault_*.c)
$(call objs,$(SORT_TESTS)): EXTRA = $(SORT_INC) $(if $(filter yes,$(MPI)),-DHAVE_MPI)
$(OBJ)/gensort/tests/%: EXTRA = -Igensort -iquote partition/number/include $(CRC_CFLAGS)

$(call objs,$(SORT_MPI)): $(OBJ)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,MPICC,$<)
	$(Q)$(MPIWRAP) $(NEEDED) $(CPPFLAGS) $(CFLAGS) -MMD -MP $(EXTRA) -c -o $@ $<

PMPI_INC = -iquote partition/number/include -Ipartition/mpi/include -Ipartition/include
$(OBJ)/partition/mpi/%.o: partition/mpi/%.c
	@mkdir -p $(@D)
	$(call say,MPICC,$<)
	$(Q)$(MPIWRAP) $(NEEDED) $(CPPFLAGS) $(CFLAGS) -MMD -MP $(PMPI_INC) -c -o $@ $<

$(OBJ)/libhetpart_mpi.a: $(call objs,$(PMPI_SRC))
	$(call say,AR,$@)
	$(Q)rm -f $@; $(AR) rcs $@ $^

$(LIBPART): $(call objs,$(PART_SRC))
	$(call say,AR,$@)
	$(Q)rm -f $@; $(AR) rcs $@ $^

# Pages: a template, its style and its scripts as strings of C.
page_of   = scripts/page/embed.awk scripts/page/page.html scripts/page/page.css scripts/page/page.js $(1)
make_page = @mkdir -p $(@D); awk -v name=$(1) -v style=scripts/page/page.css -v script='scripts/page/page.js $(2)' -f scripts/page/embed.awk scripts/page/page.html >$@
$(OBJ)/sort/report/report_page.c: $(call page_of,sort/report/report.js)
	$(call make_page,report_page,sort/report/report.js)
PLAN_PAGE = $(OBJ)/partition/hetplan/display/plan_page
$(PLAN_PAGE).c: $(call page_of,partition/hetplan/display/plan.js)
	$(call make_page,plan_page,partition/hetplan/display/plan.js)
$(OBJ)/sort/report/report_page.o $(PLAN_PAGE).o: %.o: %.c
	$(Q)$(COMPILE) -c -o $@ $<

$(LIBSORT): $(call objs,$(SORT_SRC)) $(OBJ)/sort/report/report_page.o
	$(call say,AR,$@)
	$(Q)rm -f $@; $(AR) rcs $@ $^

# GLPK, GSL and hwloc are loaded at their first use: only tests that call them are linked with them.
PART_LIBS = -ldl -lm

# Nothing may stay undefined, but for sanitizers, whose library comes with the program.
SOFLAGS   = -shared -Wl,-soname,$(1) -Wl,--version-script=$(2) \
            $(if $(findstring -fsanitize,$(CFLAGS)),,-Wl$(comma)-z$(comma)defs)
$(OBJ)/$(SOFILE): $(call objs,$(PART_SRC)) partition/hetpart.map
	$(call link,$(CC) $(CFLAGS) $(LDFLAGS) $(call SOFLAGS,$(SONAME),partition/hetpart.map),$(PART_LIBS))
# It finds libhetpart where it stands itself.
$(OBJ)/$(MPISOFILE): $(call objs,$(PMPI_SRC)) partition/mpi/hetpart_mpi.map $(SOLINKS)
	$(call link,$(MPIWRAP) $(CFLAGS) $(LDFLAGS) $(call SOFLAGS,$(MPISONAME),partition/mpi/hetpart_mpi.map) \
	  -Wl$(comma)-rpath$(comma)'$$ORIGIN',-L$(OBJ) -lhetpart -lm)
$(SOLINKS): $(OBJ)/$(SOFILE)
	$(Q)ln -sf $(SOFILE) $@
$(MPISOLINKS): $(OBJ)/$(MPISOFILE)
	$(Q)ln -sf $(MPISOFILE) $@

SORT_MAP := sort/lib/hetsort.map
SORT_LIBS = $(PART_LIBS) $(JSON_LIBS) $(XXH_LIBS) $(URING_LIBS)

# libhetsort is one object, whose inner names nobody else can see or clash with. The shared one finds
# libhetpart beside itself.
OBJCOPY ?= objcopy
$(OBJ)/libhetsort.o: $(call objs,$(filter %/api.c %/api_mpi.c,$(SORT_SRC)) sort/lib/uncounted.c) $(LIBSORT)
	$(Q)$(LD) -r -o $@ $^ && $(OBJCOPY) --localize-hidden $@
$(OBJ)/libhetsort.a: $(OBJ)/libhetsort.o
	$(call say,AR,$@)
	$(Q)rm -f $@; $(AR) rcs $@ $^
$(OBJ)/$(SORTSO): $(OBJ)/libhetsort.o $(SORT_MAP) $(LIBPARTS) $(SOLINKS)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(LINKMPI) $(call SOFLAGS,libhetsort.so.$(SOMAJOR),$(SORT_MAP)) -Wl,--as-needed -Wl,-rpath,'$$ORIGIN' -o $@ $< -L$(OBJ) -lhetpart -lm
$(SORTLINK): $(OBJ)/$(SORTSO)
	$(Q)ln -sf $(SORTSO) $@

define link
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(1) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(2)
endef

$(OBJ)/bin/gensort: $(call objs,$(GEN_SRC))
	$(call link,$(LINK),$(CRC_LIBS))
$(OBJ)/bin/valsort: $(call objs,$(VAL_SRC))
	$(call link,$(LINK),$(CRC_LIBS))
$(OBJ)/bin/hetplan: $(call objs,$(PLAN_SRC)) $(PLAN_PAGE).o $(LIBPART)
	$(call link,$(LINK),$(PART_LIBS) $(JSON_LIBS))
LINKSORT = $(if $(PLUGIN),$(LINK),$(LINKMPI))
$(OBJ)/bin/hetsort: $(call objs,sort/main.c) $(LIBSORT) $(LIBPART)
	$(call link,$(LINKSORT),$(SORT_LIBS))
$(OBJ)/bin/libhetsort-%.so: $(call objs,$(addprefix sort/comm/,mpi_plugin.c comm_mpi.c comm_mpi_run.c) sort/base/status.c)
	$(call link,$(LINKMPI) -shared $(if $(findstring -fsanitize,$(CFLAGS)),,-Wl$(comma)-z$(comma)defs))

$(OBJ)/bin/hetsort-report: $(call objs,sort/report/main.c) $(LIBSORT) $(LIBPART)
	$(call link,$(LINKSORT),$(SORT_LIBS))

$(OBJ)/bin/hetsim: $(call objs,sort/main.c $(SIM_SRC)) $(LIBSORT) $(LIBPART)
	$(call link,$(LINKSORT) $(call wrapped,$(SIM_SRC)),$(SORT_LIBS))

# smpirun loads it, and calls its main(), which calls that of hetsort.
$(OBJ)/sort/sim/smpi/main.o: $(OBJ)/sort/main.o
	$(Q)mkdir -p $(@D) && $(OBJCOPY) --redefine-sym main=hetsort_main $< $@
$(OBJ)/bin/hetsmpi.so: $(call objs,$(GRID_SIM)) $(OBJ)/sort/sim/smpi/main.o $(LIBSORT) $(LIBPART)
	$(call link,$(SMPICC) -pthread $(CFLAGS) $(LDFLAGS) $(call wrapped,$(GRID_SIM)),$(SORT_LIBS))

$(OBJ)/bin/cpuburn: $(call objs,$(BURN_SRC))
	$(call link,$(LINK),-lm)

# Tests: a test program links its room's code, without the program's main().
$(OBJ)/gensort/tests/%: $(OBJ)/gensort/tests/%.o \
		$(call objs,$(sort $(filter-out gensort/gensort.c gensort/valsort.c,$(GEN_SRC) $(VAL_SRC))))
	$(call link,$(LINK),$(CRC_LIBS) $(TEST_LIBS))
$(PART_X): %: %.o $(call objs,$(filter-out partition/hetplan/main.c,$(PLAN_SRC))) $(PLAN_PAGE).o $(LIBPART)
	$(call link,$(LINK),$(WITH_SHIM) $(PART_LIBS) -Wl$(comma)--as-needed $(GLPK_LIBS) $(GSL_LIBS) $(JSON_LIBS) $(TEST_LIBS))
# The shim of the tests (scripts/shim.c), without and with the calls of MPI. Sanitizers have no part in it.
SHIMS    := $(if $(filter Linux,$(shell uname -s)),$(OBJ)/shim.so $(if $(filter yes,$(MPI)),$(OBJ)/mpi-shim.so))
$(SHIMS): scripts/shim.c scripts/shim.h
	@mkdir -p $(@D)
	$(Q)$(if $(filter %/mpi-shim.so,$@),$(MPIWRAP) -DSHIM_MPI,$(CC)) -D_GNU_SOURCE -O1 $(WARN) -shared -fPIC -Wl,-soname,$(@F) -o $@ $< -ldl
# It counts and refuses the allocations of these tests.
OOM_X    := $(filter %/test_oom %/oom_test,$(TESTS_X) $(PMPI_X) $(SMPI_X))
$(OOM_X): $(firstword $(SHIMS))
$(OOM_X): WITH_SHIM = $(if $(SHIMS),$(OBJ)/shim.so -Wl$(comma)-rpath$(comma)'$$ORIGIN/../..:$$ORIGIN/../../..:$$ORIGIN/../../../..')
$(PMPI_X): %: %.o $(LIBPMPI) $(LIBPART)
	$(call link,$(LINKMPI),$(WITH_SHIM) $(PART_LIBS))
SMPI_INC = -Isort/include -Ipartition/mpi/tests $(PMPI_INC)
$(SMPI_X:=.o): $(OBJ)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,MPICC,$<)
	$(Q)$(MPIWRAP) $(NEEDED) $(CPPFLAGS) $(CFLAGS) -MMD -MP $(SMPI_INC) -c -o $@ $<
$(SMPI_X): %: %.o $(OBJ)/libhetsort.a $(LIBPART)
	$(call link,$(LINKMPI),$(WITH_SHIM) $(PART_LIBS))
$(patsubst %.c,$(OBJ)/%,$(filter sort/%,$(TESTS_C) $(FUZZ_C))): $(OBJ)/%: $(OBJ)/%.o $(LIBSORT) $(LIBPART)
	$(call link,$(LINKMPI),$(SORT_LIBS) $(TEST_LIBS))
# It counts calls of hwloc, so it must have them before the library is loaded.
$(OBJ)/sort/base/tests/test_numa: TEST_LIBS += $(HWLOC_LIBS)
# Those of the simulation: with what of it wraps nothing.
$(patsubst %.c,$(OBJ)/%,$(filter sort/sim/tests/%,$(TESTS_C) $(FUZZ_C))): \
	$(patsubst %,$(OBJ)/sort/sim/%.o,platform engine events network)
FAULT_C := $(call in_tests,sort,fault_*.c)
$(if $(FAILPOINTS),$(call objs,$(PART_SRC) $(SORT_SRC) $(FAULT_C) sort/main.c): $(FAILCALLS))
define fault_program
$(OBJ)/bin/$(notdir $(1:.c=)): $(OBJ)/$(1:.c=.o) $(LIBSORT) $(LIBPART)
	$$(call link,$$(LINKMPI) ,$$(SORT_LIBS))
endef
$(foreach f,$(FAULT_C),$(eval $(call fault_program,$(f))))
$(OBJ)/bench/tests/%: $(OBJ)/bench/tests/%.o
	$(call link,$(LINK),$(TEST_LIBS) -lm)

$(FUZZ_X): $(FUZZ_MAIN)

# ---------------------------------------------------------------------------------------- checks
# TESTS=... are the tests to run, in place of all; TEST_JOBS how many at a time: more
# than there are processors, as they wait for disks, children and limits of time now and then.
TEST_JOBS ?= $(shell echo $$(($$(getconf _NPROCESSORS_ONLN || echo 1) + 2)))
# Those over MPI wait for most of their time: for launchers, timeouts and each other.
MPI_JOBS = $(shell echo $$((2 * $(TEST_JOBS))))
# Those that take longest begin first, so that at the end nothing waits for one of them.
LONGEST := mpi_resume mpi_kill mpi_faults mpi_experiments mpi_library mpi_watch mpi_matrix mpi_cli mpi_clients \
           test_matrix test_cli test_resume test_failpoint test_cluster test_sorted_merge test_vectors test_faults
is_longest    = $(foreach n,$(LONGEST),$(filter %/$(n) %/$(n).c %/$(n).sh,$(1)))
longest_first = $(is_longest) $(filter-out $(is_longest),$(1))
RUN = BIN="$(abspath $(PROGDIR))" OBJ="$(abspath $(OBJ))" CC="$(CC)" HAVE_MPI="$(MPI)" scripts/run-tests

check: all $(SHIMS) $(HAS_TEST) $(TESTS_X) $(FUZZ_X) $(BENCH_X) failpoints  ## run the tests: no network, no root, no mpirun
	$(Q)$(RUN) -j $(TEST_JOBS) $(or $(TESTS),$(call longest_first,$(TESTS_X) $(FUZZ_X) $(TESTS_SH)))

check-mpi: all $(SHIMS) $(TESTS_X) $(PMPI_X) $(SMPI_X) $(LIBBENCH) $(SCATTERX) failpoints  ## run the tests that need mpirun
	$(Q)$(RUN) -j $(MPI_JOBS) $(or $(TESTS),$(call longest_first,$(MPI_SH)))

# A test that reads HETSORT_LONG is sampled elsewhere, whole here. What measures runs by itself.
LONG_TESTS := $(LONG_SH) $(shell grep -l HETSORT_LONG $(if $(filter yes,$(MPI)),$(MPI_SH)) $(TESTS_C) $(TESTS_SH))
LONG_ALONE := $(filter %_experiments.sh %/test_cpuburn.sh %/test_cluster.sh,$(LONG_TESTS))
check-long: all $(SHIMS) $(TESTS_X) $(PMPI_X) $(SMPI_X) $(SCATTERX) $(BENCH_X) failpoints  ## the long tests, and at full size what check and check-mpi sample
	$(Q)HETSORT_LONG=1 TEST_TIMEOUT=7200 $(RUN) $(LONG_ALONE) -j $(TEST_JOBS) \
	  $(patsubst %.c,$(OBJ)/%,$(call longest_first,$(filter-out $(LONG_ALONE),$(LONG_TESTS))))

check-slurm: all failpoints  ## jobs under Slurm on four virtual hosts (root; scripts/deps slurm)
	$(Q)$(RUN) $(or $(TESTS),$(SLURM_SH))

check-smpi: all  ## hetsim beside SimGrid's SMPI: 16 and 96 hosts, 1 and 10 Gbit/s (scripts/deps smpi)
	$(Q)! command -v $(SMPICC) >/dev/null || $(MAKE) --no-print-directory MPI=no OBJ=$(OBJ)/smpi \
	  PROGDIR=$(PROGDIR)/smpi $(PROGDIR)/smpi/hetsmpi.so
	$(Q)$(RUN) $(or $(TESTS),$(GRID_SH))

# The sorter once more, with failpoints, and the programs that walk through them.
failpoints:
	$(Q)$(MAKE) --no-print-directory FAILPOINTS=1 OBJ=$(OBJ)/failpoints PROGDIR=$(PROGDIR)/failpoints \
	  $(addprefix $(PROGDIR)/failpoints/,hetsort $(notdir $(FAULT_C:.c=)))

FAULTS ?= full 100000
check-faults: failpoints  ## 100000 faults: every allocation, file call and message, then pairs (FAULTS=quick: a sample)
	$(Q)$(PROGDIR)/failpoints/fault_walk $(FAULTS)

SEEDS ?= 10000
check-sim: failpoints  ## clusters from seeds, with delays and faults (SEEDS=10000 SEED=FIRST)
	$(Q)$(PROGDIR)/failpoints/fault_sim $(SEEDS) $(SEED)

SAN = -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all
ASAN = CFLAGS="$(SAN) -fsanitize=address,undefined" PROGDIR=build/asan/bin SANITIZER=asan
# Open MPI keeps memory when it ends, which would count as leaks. Experiments measure: not here.
asan:  ## run the tests under AddressSanitizer and UBSan
	$(Q)ASAN_OPTIONS=detect_leaks=1 $(MAKE) check $(ASAN)
	$(if $(filter yes,$(MPI)),$(Q)ASAN_OPTIONS=detect_leaks=0 $(MAKE) check-mpi $(ASAN) \
	  MPI_SH="$(filter-out bench/%,$(MPI_SH))")
tsan:  ## run the tests under ThreadSanitizer
	$(Q)TEST_TIMEOUT=1800 $(MAKE) check CFLAGS="$(SAN) -fsanitize=thread" PROGDIR=build/tsan/bin SANITIZER=tsan
export SANITIZER

FUZZ_SECONDS ?= 60
fuzz:  ## run each fuzzer for FUZZ_SECONDS (clang with libFuzzer)
	$(Q)scripts/fuzz $(FUZZ_SECONDS) $(FUZZ_C)

coverage:  ## lines and branches that the tests run, as a table and HTML (gcovr)
	$(Q)scripts/coverage

analyze:  ## clang-tidy and cppcheck over programs and libraries
	$(Q)scripts/analyze

# Flags of the programs in bin/bench, which build.json tells.
PEER_OPENMP = $(shell echo 'int main() {}' | $(CXX) -fopenmp -x c++ -o /dev/null - 2>/dev/null && echo -fopenmp)
PEER_CFLAGS = -std=c++17 -Wall -Wextra -pthread $(PEER_CXXFLAGS) $(PEER_OPENMP) \
              $(if $(PEER_TBB),-DHAVE_TBB) $(if $(PEER_HWY),'-DHAVE_HWY="$(PEER_HWY)"')
PEER_TBB    = $(call pkg,--libs,tbb)
PEER_HWY    = $(call pkg,--modversion,libhwy-contrib)

$(OBJ)/bin/bench/floor $(OBJ)/bin/bench/records: $(OBJ)/bin/bench/%: $(OBJ)/bench/%.o
	$(call link,$(LINK),-lm)
$(OBJ)/bin/bench/peers: bench/peers.cc
	@mkdir -p $(@D)
	$(call say,CXX,$<)
	$(Q)$(CXX) $(PEER_CFLAGS) -o $@ $< $(PEER_TBB) $(if $(PEER_HWY),-lhwy_contrib -lhwy)
$(OBJ)/bin/bench/build.json: Makefile
	@mkdir -p $(@D)
	$(Q)printf '{"cc": "%s", "cflags": "%s", "cxx": "%s", "peer_cxxflags": "%s"}\n' \
	  "$$($(CC) --version | head -n 1)" "$(subst ",,$(CFLAGS) $(CPPFLAGS) $(LDFLAGS))" \
	  "$$($(CXX) --version 2>/dev/null | head -n 1)" "$(PEER_CXXFLAGS)" >$@

# Results stay in build/bench; ARGS goes to the program: make bench ARGS='--records 1000000 --dir /data'
BENCH = $(Q)mkdir -p build/bench; BIN="$(abspath $(PROGDIR))" bench/$(1) --json build/bench/$(1).json $(ARGS)
bench: all $(BENCH_X)  ## measure from file to file, side by side with named partners (ARGS=...)
	$(call BENCH,run)
bench-compare:  ## compare two measurements (ARGS='A.json B.json')
	$(Q)bench/compare $(ARGS)
bench-minute: all $(BENCH_X)  ## most records sorted in a minute (ARGS=...)
	$(call BENCH,minute)
bench-growth: all $(BENCH_X)  ## time per byte as the input grows (ARGS=...)
	$(call BENCH,growth)
bench-phases: all $(BENCH_X)  ## each phase beside what the machine allows (ARGS=...)
	$(call BENCH,phases)
bench-predict: all  ## predicted memory and time beside those taken (ARGS=...)
	$(call BENCH,predict)
bench-eta: all  ## the time left that --progress tells beside what was left (root; ARGS=...)
	$(call BENCH,eta)
bench-overhead: all $(BENCH_X)  ## what --trace and --progress cost a sort (ARGS=...)
	$(call BENCH,overhead)
bench-simulated: all  ## what hetsim says that virtual hosts take, beside what they do (root; ARGS=...)
	$(call BENCH,simulated)
bench-scaling: all  ## simulated clusters as they grow, and as hosts go wrong (ARGS=...)
	$(call BENCH,scaling)
bench-unequal: all $(BENCH_X) $(PROGDIR)/bench/local_bench  ## with one processor slowed, beside the ideal time (ARGS=...)
	$(call BENCH,unequal)
bench-memory: all $(BENCH_X)  ## with less memory than data, beside cp (ARGS=...)
	$(call BENCH,memory)

# On virtual hosts, as root; results stay in build/experiments.
experiments: all $(BENCH_X) $(SCATTERX)  ## all experiments on virtual hosts of unequal speed (root; ARGS=...)
	$(Q)BIN="$(abspath $(PROGDIR))" bench/experiments all $(ARGS)
experiments-quick: all $(BENCH_X) $(SCATTERX)  ## the same in a few minutes, judged loosely
	$(Q)BIN="$(abspath $(PROGDIR))" bench/experiments all --quick $(ARGS)

# A planner's benchmark is a program that prints JSON lines; ARGS goes to it.
$(OBJ)/bench/%: EXTRA = $(GSL_CFLAGS) $(PART_INC)
$(OBJ)/bench/%_bench: $(OBJ)/bench/%_bench.o $(LIBPART)
	$(call link,$(LINK),$(PART_LIBS))
bench-plan bench-scatter bench-chain: bench-%: $(OBJ)/bench/%_bench  ## measure a planner (ARGS=...)
	$(Q)$< $(ARGS)
bench-learning: $(OBJ)/bench/learning_bench  ## how a cost is learnt, as figures and a plot (ARGS=...)
	$(Q)$< $(ARGS) >$(OBJ)/bench/learning.json
	$(Q)bench/learning-plot $(OBJ)/bench/learning.json

# Sorting in memory, beside C++ libraries: those that are here, where there is a C++ compiler.
CXX_OK   = $(shell command -v $(firstword $(CXX)) 2>/dev/null)
cxx_has  = $(if $(shell printf '\043include <%s>\n' $(1) | $(CXX) -std=c++17 $(3) -x c++ -E - >/dev/null 2>&1 \
             && echo yes),$(2))
PARTNERS = $(call cxx_has,hwy/contrib/sort/vqsort.h,-DHAVE_HWY) $(call cxx_has,tbb/parallel_sort.h,-DHAVE_TBB) \
           $(call cxx_has,boost/sort/sort.hpp,-DHAVE_BOOST) $(call cxx_has,omp.h,-DHAVE_OPENMP -fopenmp,-fopenmp) \
           $(XSS:%=-DHAVE_XSS_%)
PARTNER_LIBS = $(if $(findstring HWY,$(PARTNERS)),-lhwy_contrib -lhwy) $(if $(findstring TBB,$(PARTNERS)),-ltbb) \
           $(filter -fopenmp,$(PARTNERS))
# Intel's x86-simd-sort is in no distribution: X86SIMDSORT=DIR is a copy of its source. Its header has one set of
# instructions per compilation: AVX2, and AVX-512 where this processor has it.
XSS      = $(call cxx_has,x86simdsort-static-incl.h,avx2 $(if $(findstring __AVX512DQ__,$(shell $(CXX) -march=native -dM \
             -E -x c++ /dev/null)),avx512),$(XSS_FLAGS))
XSS_FLAGS = -fopenmp -march=native $(addprefix -isystem ,$(addsuffix /src,$(X86SIMDSORT)))
XSS_avx2 = -mno-avx512f
CXX_PART = $(CXX) -std=gnu++17 -g -pthread -Wall $(PEER_CXXFLAGS)
$(OBJ)/bench/local_bench.o: EXTRA = $(SORT_INC) $(if $(CXX_OK),-DHAVE_PARTNERS)
$(OBJ)/bench/partners: FORCE
	$(Q)mkdir -p $(@D); echo '$(PARTNERS) $(X86SIMDSORT)' >$@.new; cmp -s $@.new $@ || mv $@.new $@
$(OBJ)/bench/local_partners.o: bench/local_partners.cc bench/local_xss.cc bench/local_radix.hpp bench/local.h $(OBJ)/bench/partners
	$(call say,CXX,$<)
	$(Q)$(CXX_PART) $(PARTNERS) -c -o $@.c++ $<
	$(foreach i,$(XSS),$(Q)$(CXX_PART) $(XSS_FLAGS) $(XSS_$i) -DXSS=$i -c -o $@.$i bench/local_xss.cc$(newline)	)
	$(Q)$(LD) -r -o $@ $@.c++ $(XSS:%=$@.%)
$(OBJ)/bin/bench/local_bench: $(OBJ)/bench/local_bench.o $(OBJ)/bench/local_kinds.o $(if $(CXX_OK),$(OBJ)/bench/local_partners.o) $(LIBSORT) $(LIBPART)
	$(call link,$(if $(CXX_OK),$(CXX) -pthread $(LDFLAGS),$(LINK)),$(if $(CXX_OK),$(PARTNER_LIBS)) $(HWLOC_LIBS) -lm)
bench-local: $(PROGDIR)/bench/local_bench  ## measure sorting in memory (ARGS=...)
	$(Q)$< $(ARGS)

# Over ranks: one for each of the machine's processors, or RANKS.
RANKS ?= $(shell nproc)
$(OBJ)/bench/library_bench.o: bench/library_bench.c
	@mkdir -p $(@D)
	$(call say,MPICC,$<)
	$(Q)$(MPIWRAP) $(NEEDED) $(CPPFLAGS) $(CFLAGS) -MMD -MP -Isort/include -c -o $@ $<
$(OBJ)/bench/library_bench: $(OBJ)/bench/library_bench.o $(OBJ)/libhetsort.a $(LIBPART)
	$(call link,$(LINKMPI),$(PART_LIBS))
# A client of libhetpart_mpi, for the experiments.
$(OBJ)/bin/bench/scatter_client.o: bench/scatter_client.c
	@mkdir -p $(@D)
	$(call say,MPICC,$<)
	$(Q)$(MPIWRAP) $(NEEDED) $(CPPFLAGS) $(CFLAGS) -MMD -MP $(PMPI_INC) -c -o $@ $<
$(OBJ)/bin/bench/scatter_client: $(OBJ)/bin/bench/scatter_client.o $(LIBPMPI) $(LIBPART)
	$(call link,$(LINKMPI),$(PART_LIBS))
bench-library: $(OBJ)/bench/library_bench  ## measure sorting in memory over RANKS ranks (ARGS=...)
	$(Q)scripts/mpirun $(RANKS) $< $(ARGS)

lint:  ## format, spelling, shell scripts, man pages, layers
	$(Q)scripts/lint

html:  ## the manuals as HTML, in build/html (mandoc)
	$(Q)scripts/man-html build/html $(sort $(foreach s,1 3 5 7,$(call room_man,$(ROOMS) partition/mpi,$s)))

graph:  ## the folders and what they include of each other (ARGS=--svg: as a picture)
	$(Q)scripts/include-graph $(ARGS)

format:  ## let clang-format rewrite the sources
	$(Q)clang-format -i $$(git ls-files '*.c' '*.h')

# --------------------------------------------------------------------------------------- install
# Folders of the installation. PROGDIR, where the build puts programs, is none of them.
BINDIR     ?= $(PREFIX)/bin
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR    ?= $(PREFIX)/share
MANDIR     ?= $(DATADIR)/man
DOCDIR     ?= $(DATADIR)/doc/hetsort
# Where the interpreter looks, if that is below PREFIX; it is asked only where something is installed.
ifneq ($(filter install% uninstall,$(MAKECMDGOALS)),)
PYTHONDIR  ?= $(PYTHON_OWN)
PYTHON_OWN := $(or $(shell python3 -c 'import site; print(*site.getsitepackages(), sep="\n")' 2>/dev/null | \
                grep '^$(PREFIX)/lib/python' | head -n 1),$(DATADIR)/hetpart/python)
endif
BASHDIR    ?= $(DATADIR)/bash-completion/completions
ZSHDIR     ?= $(DATADIR)/zsh/site-functions
# What is made for these folders; two that install at a time do not get into each other's way.
FOLDERS    = $(PREFIX) $(LIBDIR) $(INCLUDEDIR) $(PYTHONDIR)
FILLED    := $(OBJ)/install/$(shell printf '%s' "$(subst ",,$(FOLDERS))" | cksum | cut -d' ' -f1)

room_man = $(strip $(foreach r,$(1),$(wildcard $(r)/man/*.$(2))))
MAN3     = $(call room_man,partition $(if $(LIBPMPI),partition/mpi),3)
SORT_MAN3 = $(call room_man,sort,3)
# The calls that have no page under their own name.
aliases  = $(filter-out $(notdir $(1)),$(addsuffix .3,$(shell awk -f partition/pkg/man-names.awk \
             $(1) /dev/null | cut -d' ' -f1)))
ALIASES  = $(call aliases,$(MAN3))
SORT_ALIASES = $(call aliases,$(SORT_MAN3))

# Kinds of files: of_KIND which they are, to_KIND their folder, by_KIND how they are copied. Both
# install and uninstall go by this list, so nothing is forgotten.
KINDS_LIB  = archive shared link include pc cmake python examples man3 man5lib
KINDS_SORT = plugin_s archive_s shared_s link_s include_s pc_s cmake_s python_s examples_s pyexamples_s man3_s
KINDS      = bin man1 man5 man7 doc docs plots jobs bash bashlink zsh $(KINDS_LIB) $(KINDS_SORT)
of_bin     = $(addprefix $(PROGDIR)/,$(PROGRAMS))
to_bin     = $(BINDIR)
by_bin     = install -m 755
of_man1    = $(call room_man,$(filter-out $(if $(BURN_SRC),,bench),$(ROOMS)),1)
to_man1    = $(MANDIR)/man1
of_man5    = $(call room_man,$(filter-out partition,$(ROOMS)),5)
to_man5    = $(MANDIR)/man5
of_man7    = $(call room_man,$(ROOMS),7)
to_man7    = $(MANDIR)/man7
of_doc     = README.md CHANGELOG.md SECURITY.md LICENSE
to_doc     = $(DOCDIR)
of_docs    = $(wildcard docs/*.md docs/*.png)
to_docs    = $(DOCDIR)/docs
of_plots   = $(wildcard docs/plots/*.svg)
to_plots   = $(DOCDIR)/docs/plots
of_jobs    = $(wildcard docs/jobs/*)
to_jobs    = $(DOCDIR)/docs/jobs
of_bash    = $(OBJ)/completion/hetsort
to_bash    = $(BASHDIR)
of_bashlink = $(addprefix $(OBJ)/completion/,$(filter-out hetsort,$(PROGRAMS)))
to_bashlink = $(BASHDIR)
by_bashlink = cp -Pf
of_zsh     = scripts/completion/_hetsort
to_zsh     = $(ZSHDIR)
of_archive = $(LIBPART) $(LIBPMPI)
to_archive = $(LIBDIR)
of_shared  = $(filter %.so.$(VERSION),$(LIBPARTS) $(LIBPMPIS))
to_shared  = $(LIBDIR)
by_shared  = install -m 755
of_link    = $(SOLINKS) $(MPISOLINKS)
to_link    = $(LIBDIR)
by_link    = cp -Pf
of_include = partition/include/hetpart.h partition/fortran/hetpart.f90 \
             $(if $(LIBPMPI),partition/mpi/include/hetpart_mpi.h)
to_include = $(INCLUDEDIR)
of_pc      = $(FILLED)/hetpart.pc $(if $(LIBPMPI),$(FILLED)/hetpart_mpi.pc)
to_pc      = $(LIBDIR)/pkgconfig
of_cmake   = $(FILLED)/hetpart-config.cmake $(FILLED)/hetpart-config-version.cmake
to_cmake   = $(LIBDIR)/cmake/hetpart
of_python  = python/hetpart.py $(FILLED)/_hetlibrary.py
to_python  = $(PYTHONDIR)
of_examples = $(wildcard partition/examples/* $(if $(LIBPMPI),partition/mpi/examples/*.c))
to_examples = $(DATADIR)/hetpart/examples
of_man3    = $(MAN3) $(addprefix $(OBJ)/man3/,$(ALIASES))
to_man3    = $(MANDIR)/man3
of_man5lib = $(call room_man,partition,5)
to_man5lib = $(MANDIR)/man5

# The same of libhetsort.
of_plugin_s  = $(addprefix $(PROGDIR)/,$(PLUGIN))
to_plugin_s  = $(LIBDIR)/hetsort
by_plugin_s  = install -m 755
of_archive_s = $(OBJ)/libhetsort.a
to_archive_s = $(LIBDIR)
of_shared_s  = $(filter %.so.$(VERSION),$(SORTLIBS))
to_shared_s  = $(LIBDIR)
by_shared_s  = install -m 755
of_link_s    = $(SORTLINK)
to_link_s    = $(LIBDIR)
by_link_s    = cp -Pf
of_include_s = sort/include/hetsort.h sort/include/hetsort.hpp sort/fortran/hetsort.f90
to_include_s = $(INCLUDEDIR)
of_pc_s      = $(FILLED)/hetsort.pc
to_pc_s      = $(LIBDIR)/pkgconfig
of_cmake_s   = $(FILLED)/hetsort-config.cmake $(FILLED)/hetsort-config-version.cmake
to_cmake_s   = $(LIBDIR)/cmake/hetsort
of_python_s  = $(wildcard python/hetsort/*.py)
to_python_s  = $(PYTHONDIR)/hetsort
of_pyexamples_s = $(wildcard python/examples/*.py)
to_pyexamples_s = $(DATADIR)/hetsort/examples
of_examples_s = $(wildcard sort/examples/*)
to_examples_s = $(DATADIR)/hetsort/examples
of_man3_s    = $(SORT_MAN3) $(addprefix $(OBJ)/man3/,$(SORT_ALIASES))
to_man3_s    = $(MANDIR)/man3

# What holds the paths of this installation is written anew each time.
FILL = rm -f $@; mkdir -p $(@D); sed -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' \
       -e 's|@PYTHONDIR@|$(PYTHONDIR)|' -e 's|@VERSION@|$(VERSION)|' -e 's|@SOMAJOR@|$(SOMAJOR)|' \
       -e 's|@MPI@|$(MPI)|' -e 's|@NO_MPI@|$(if $(filter yes,$(MPI)),, -DHETSORT_NO_MPI)|'
FILL_PC = $(FILL) -e 's|=$(PREFIX)/|=$${prefix}/|' -e 's|@PREFIX@|$(PREFIX)|'
$(FILLED)/%.pc: partition/pkg/%.pc.in FORCE
	$(Q)$(FILL_PC) $< >$@
$(FILLED)/%.pc: sort/pkg/%.pc.in FORCE
	$(Q)$(FILL_PC) $< >$@
$(FILLED)/%.cmake: partition/pkg/%.cmake.in FORCE
	$(Q)$(FILL) $< >$@
$(FILLED)/%.cmake: sort/pkg/%.cmake.in FORCE
	$(Q)$(FILL) $< >$@
# A version of one is a version of the other.
$(FILLED)/hetsort-config-version.cmake: partition/pkg/hetpart-config-version.cmake.in FORCE
	$(Q)$(FILL) $< >$@
$(FILLED)/%.py: python/%.py FORCE
	$(Q)$(FILL) $< >$@
# A call that shares its page with others gets a page that points there.
$(addprefix $(OBJ)/man3/,$(ALIASES) $(SORT_ALIASES)): $(MAN3) $(SORT_MAN3) partition/pkg/man-names.awk
	$(Q)mkdir -p $(@D); awk -f partition/pkg/man-names.awk $(MAN3) $(SORT_MAN3) | \
	  sed -n 's|^$(basename $(@F)) \(.*\)|.so man3/\1.3|p' >$@

# bash looks for completions by the name of the program.
$(OBJ)/completion/hetsort: scripts/completion/hetsort.bash
	$(Q)mkdir -p $(@D); cp -f $< $@
$(OBJ)/completion/%:
	$(Q)mkdir -p $(@D); ln -sf hetsort $@

define newline


endef
copy = $(or $(by_$(1)),install -m 644)
put  = $(if $(strip $(of_$(1))),install -d '$(DESTDIR)$(to_$(1))'$(newline)$(call \
         copy,$(1)) $(of_$(1)) '$(DESTDIR)$(to_$(1))'$(newline))
drop = $(if $(strip $(of_$(1))),rm -f $(patsubst %,'$(DESTDIR)$(to_$(1))/%',$(notdir $(of_$(1))))$(newline))
# Folders that are empty now: all of them below DESTDIR, otherwise only our own.
tidy = $(if $(DESTDIR),cd '$(DESTDIR)' && rmdir -p '.$(to_$(1))' 2>/dev/null || true$(newline))

# Static libraries alone need nobody to find them.
AFTER_INSTALL = $(if $(filter yes,$(SHARED)),$(Q)scripts/after-install '$(LIBDIR)' '$(DESTDIR)')

install: all $(foreach k,$(KINDS),$(of_$k))  ## install below PREFIX (DESTDIR honoured)
	$(foreach k,$(KINDS),$(call put,$k))
	$(AFTER_INSTALL)
install-lib: lib $(foreach k,$(KINDS_LIB),$(of_$k))  ## install the planner's libraries alone
	$(foreach k,$(KINDS_LIB),$(call put,$k))
	$(AFTER_INSTALL)

# Also what another installation, with MPI or a shared library, may have put there.
uninstall: LIBPMPI = $(OBJ)/libhetpart_mpi.a
uninstall: PLUGIN = libhetsort-openmpi.so libhetsort-mpich.so
uninstall: LIBPARTS = $(LIBPART) $(OBJ)/$(SOFILE)
uninstall: SOLINKS = $(OBJ)/libhetpart.so $(OBJ)/$(SONAME)
uninstall: SORTLIBS = $(OBJ)/libhetsort.a $(OBJ)/$(SORTSO)
uninstall: SORTLINK = $(OBJ)/libhetsort.so $(OBJ)/libhetsort.so.$(SOMAJOR)
uninstall: LIBPMPIS = $(OBJ)/$(MPISOFILE)
uninstall: MPISOLINKS = $(OBJ)/libhetpart_mpi.so $(OBJ)/$(MPISONAME)
uninstall:  ## remove what install put there
	$(foreach k,$(KINDS),$(call drop,$k))
	$(foreach m,__pycache__/hetpart __pycache__/_hetlibrary hetsort/__pycache__/*,rm -f '$(DESTDIR)$(PYTHONDIR)'/$m.*.pyc$(newline))
	rmdir '$(DESTDIR)$(PYTHONDIR)/__pycache__' '$(DESTDIR)$(PYTHONDIR)/hetsort/__pycache__' 2>/dev/null || true
	$(foreach k,$(KINDS),$(call tidy,$k))
	rmdir $(patsubst %,'$(DESTDIR)%',$(to_cmake) $(to_python_s) $(to_python) $(to_examples) $(DATADIR)/hetpart \
	  $(to_plugin_s) $(to_cmake_s) $(to_examples_s) $(DATADIR)/hetsort $(to_plots) $(to_jobs) $(to_docs) $(DOCDIR)) 2>/dev/null || true

# ----------------------------------------------------------------------------------------- release
ARCHIVE = hetsort-$(VERSION).tar.gz
dist:  ## a source archive of HEAD: hetsort-VERSION.tar.gz
	$(Q)[ -e .git ] || { echo "make: no git repository here: this is unpacked from an archive already" >&2; exit 1; }
	$(Q)git diff --quiet HEAD || echo "make: changes that are not committed are not in $(ARCHIVE)" >&2
	git archive --prefix=hetsort-$(VERSION)/ -o $(ARCHIVE) HEAD

distcheck: dist  ## unpack the archive, build, test, install and uninstall it (TESTS=...)
	$(Q)scripts/distcheck $(ARCHIVE) $(OBJ)/distcheck

clean:  ## remove build/ and bin/
	rm -rf build bin

help:  ## this text
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-18s %s\n", $$1, $$2}' Makefile

-include $(wildcard $(OBJ)/*/*.d $(OBJ)/*/*/*.d $(OBJ)/*/*/*/*.d $(OBJ)/*/*/*/*/*.d)
