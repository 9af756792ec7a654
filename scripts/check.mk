# SPDX-License-Identifier: GPL-3.0-or-later
# The tests: which there are, what must be built for them, and how they are run. The Makefile includes this file.

# TESTS=... names the tests to run. TEST_JOBS of them run at a time: more than there are processors, as tests wait for
# disks, children and limits of time. Tests over MPI wait for most of their time.
TEST_JOBS ?= $(shell echo $$(($$(getconf _NPROCESSORS_ONLN || echo 1) + 2)))
MPI_JOBS = $(shell echo $$((2 * $(TEST_JOBS))))
# The longest tests start first, so that nothing waits for one of them at the end.
LONGEST := mpi_matrix mpi_library mpi_faults mpi_experiments mpi_kill mpi_resume_chain mpi_watch mpi_cli mpi_resume mpi_other_ranks \
           test_merge test_other_ranks test_run test_resume test_growth test_cluster test_pip test_decoys test_cli test_commit \
           test_failpoint test_lint test_matrix test_sorted_merge test_vectors test_faults test_kernel test_demand
is_longest    = $(foreach n,$(LONGEST),$(filter %/$(n) %/$(n).c %/$(n).sh,$(1)))
longest_first = $(is_longest) $(filter-out $(is_longest),$(1))
RUN = BIN="$(abspath $(PROGDIR))" OBJ="$(abspath $(OBJ))" CC="$(CC)" HAVE_MPI="$(MPI)" scripts/run-tests

# needs TESTS - what must be built for them: test programs, and for scripts the programs and what their text names
names    = $(if $(filter %.sh,$(2)),$(shell grep -l -e '$(1)' $(filter %.sh,$(2))))
needs    = $(HAS_TEST) $(filter $(OBJ)/%,$(1)) $(if $(filter %.sh,$(1)),all) $(if $(call names,shim,$(1)),$(SHIMS)) \
           $(if $(call names,failpoints\|other_ranks\|faults,$(1)),failpoints) $(if $(call names,bench/\|$$BIN/\*,$(1)),$(BENCH_X)) \
           $(if $(call names,OBJ/[a-z/]*tests/test,$(1)),$(TESTS_X)) $(if $(findstring /mpi_,$(1)),$(FOR_MPI))
CHOSEN   = $(patsubst %.c,$(OBJ)/%,$(TESTS))
FOR_MPI  = $(SHIMS) $(TESTS_X) $(PMPI_X) $(SMPI_X) $(SCATTERX) $(LIBBENCH)

FOR_CHECK = $(SHIMS) $(HAS_TEST) $(TESTS_X) $(FUZZ_X) $(BENCH_X)

check: $(if $(TESTS),$(call needs,$(CHOSEN)),all $(FOR_CHECK) failpoints)  ## run the tests: no network, no root, no mpirun (TESTS=...)
	$(Q)$(RUN) -j $(TEST_JOBS) $(or $(CHOSEN),$(call longest_first,$(TESTS_X) $(FUZZ_X) $(TESTS_SH)))

check-mpi: all $(FOR_MPI) failpoints  ## run the tests that need mpirun (TESTS=...)
	$(Q)$(RUN) -j $(MPI_JOBS) $(or $(TESTS),$(call longest_first,$(MPI_SH)))

build-tests: all $(FOR_CHECK) $(FOR_MPI) failpoints  ## build what check and check-mpi start, so that both can run at the same time

# A test that reads HETSORT_LONG is sampled by check and check-mpi and runs in full here. Tests that measure run by
# themselves.
LONG_TESTS := $(LONG_SH) $(shell grep -l HETSORT_LONG $(if $(WITH_MPI),$(MPI_SH)) $(TESTS_C) $(TESTS_SH))
LONG_FIRST := $(filter %_experiments.sh %/test_cpuburn.sh %/test_cluster.sh,$(LONG_TESTS))
check-long: all $(FOR_MPI) $(BENCH_X) failpoints  ## the long tests, and in full those that check and check-mpi sample (TESTS=...)
	$(Q)HETSORT_LONG=1 TEST_TIMEOUT=7200 $(RUN) $(if $(TESTS),$(CHOSEN),$(LONG_FIRST) -j $(TEST_JOBS) \
	  $(patsubst %.c,$(OBJ)/%,$(call longest_first,$(filter-out $(LONG_FIRST),$(LONG_TESTS)))))

check-slurm: all failpoints  ## jobs under Slurm on four virtual hosts (root; scripts/deps slurm)
	$(Q)$(RUN) $(or $(TESTS),$(SLURM_SH))

# A second build of the sorter, with failpoints, and the programs that walk through them.
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
# Open MPI never frees some memory, which would be reported as leaks. Experiments measure, so they are not run.
asan:  ## run the tests under AddressSanitizer and UBSan
	$(Q)ASAN_OPTIONS=detect_leaks=1 $(MAKE) check $(ASAN)
	$(if $(WITH_MPI),$(Q)ASAN_OPTIONS=detect_leaks=0 $(MAKE) check-mpi $(ASAN) MPI_SH="$(filter-out bench/%,$(MPI_SH))")
tsan:  ## run the tests under ThreadSanitizer
	$(Q)TEST_TIMEOUT=1800 $(MAKE) check CFLAGS="$(SAN) -fsanitize=thread" PROGDIR=build/tsan/bin SANITIZER=tsan
export SANITIZER

FUZZ_SECONDS ?= 60
fuzz:  ## run each fuzzer for FUZZ_SECONDS (clang with libFuzzer)
	$(Q)scripts/fuzz $(FUZZ_SECONDS) $(FUZZ_C)

# check/DIRECTORY: the tests in DIRECTORY/tests. Its needs depend on the name, so they are expanded when it is known.
tests_of = $(filter $(OBJ)/$(1)/tests/% $(1)/tests/%,$(TESTS_X) $(FUZZ_X) $(TESTS_SH))
.SECONDEXPANSION:
check/%: $$(call needs,$$(call tests_of,$$*)) FORCE
	$(Q)$(RUN) -j $(TEST_JOBS) $(call longest_first,$(call tests_of,$*))
