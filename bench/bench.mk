# SPDX-License-Identifier: GPL-3.0-or-later
# The benchmarks and the programs that they start. The Makefile includes this file. Results are in build/bench. ARGS has
# the options of the benchmark: make bench ARGS='--records 1000000 --dir /data'

$(OBJ)/bench/%: EXTRA = $(GSL_CFLAGS) $(PART_INC)
$(OBJ)/bench/local_bench.o: EXTRA = $(SORT_INC) $(if $(CXX_OK),-DHAVE_PARTNERS)
$(OBJ)/bench/library_bench.o: EXTRA = -Isort/include
$(OBJ)/bench/scatter_client.o: EXTRA = $(PMPI_INC)
$(OBJ)/bench/library_bench.o $(OBJ)/bench/scatter_client.o: COMPILER = $(MPIWRAP)

$(OBJ)/bin/bench/floor $(OBJ)/bin/bench/records: $(OBJ)/bin/bench/%: $(OBJ)/bench/%.o
	$(call link,$(LINK),-lm)

# Sorting from file to file, compared with other sorters: peers.cc. build.json contains compilers and flags.
PEER_OPENMP = $(shell echo 'int main() {}' | $(CXX) -fopenmp -x c++ -o /dev/null - 2>/dev/null && echo -fopenmp)
PEER_TBB    = $(call pkg,--libs,tbb)
PEER_HWY    = $(call pkg,--modversion,libhwy-contrib)
PEER_CFLAGS = -std=c++17 -Wall -Wextra -pthread $(PEER_CXXFLAGS) $(PEER_OPENMP) \
              $(if $(PEER_TBB),-DHAVE_TBB) $(if $(PEER_HWY),'-DHAVE_HWY="$(PEER_HWY)"')
$(OBJ)/bin/bench/peers: bench/peers.cc
	@mkdir -p $(@D)
	$(call say,CXX,$<)
	$(Q)$(CXX) $(PEER_CFLAGS) -o $@ $< $(PEER_TBB) $(if $(PEER_HWY),-lhwy_contrib -lhwy)
$(OBJ)/bin/bench/build.json: Makefile
	@mkdir -p $(@D)
	$(Q)printf '{"cc": "%s", "cflags": "%s", "cxx": "%s", "peer_cxxflags": "%s"}\n' \
	  "$$($(CC) --version | head -n 1)" "$(subst ",,$(CFLAGS) $(CPPFLAGS) $(LDFLAGS))" \
	  "$$($(CXX) --version 2>/dev/null | head -n 1)" "$(PEER_CXXFLAGS)" >$@

BENCH = $(Q)mkdir -p build/bench; BIN="$(abspath $(PROGDIR))" bench/$(@:bench-%=%) --json build/bench/$(@:bench-%=%).jsonl $(ARGS)
bench: all $(BENCH_X)  ## measure from file to file, compared with named partners (ARGS=...)
	$(Q)mkdir -p build/bench; BIN="$(abspath $(PROGDIR))" bench/run --json build/bench/run.jsonl $(ARGS)
bench-compare:  ## compare two measurements (ARGS='A.jsonl B.jsonl')
	$(Q)bench/compare $(ARGS)
bench-minute: all $(BENCH_X)  ## most records sorted in a minute (ARGS=...)
	$(BENCH)
bench-growth: all $(BENCH_X)  ## time per byte as the input grows (ARGS=...)
	$(BENCH)
bench-phases: all $(BENCH_X)  ## each phase compared with what the machine allows (ARGS=...)
	$(BENCH)
bench-predict: all  ## predicted memory and time compared with the actual ones (ARGS=...)
	$(BENCH)
bench-eta: all  ## the time left that --progress prints compared with the actual one (root; ARGS=...)
	$(BENCH)
bench-overhead: all $(BENCH_X)  ## what --trace and --progress cost a sort (ARGS=...)
	$(BENCH)
bench-simulated: all  ## time on virtual hosts as hetsim predicts it, compared with the actual one (root; ARGS=...)
	$(BENCH)
bench-scaling: all  ## simulated clusters as they grow, and as hosts go wrong (ARGS=...)
	$(BENCH)
bench-platforms: all  ## random simulated clusters: equal shares, the default, and given rates (ARGS=...)
	$(BENCH)
bench-unequal: all $(BENCH_X) $(PROGDIR)/bench/local_bench  ## with one processor slowed, compared with the ideal time (ARGS=...)
	$(BENCH)
bench-limits: all $(BENCH_X)  ## with an eighth of the data in memory, compared with GNU sort, DuckDB, Polars, SQLite and numpy (ARGS=...)
	$(BENCH)
bench-memory: all $(BENCH_X)  ## with less memory than data, compared with cp (ARGS=...)
	$(BENCH)
bench-formats: all  ## files of several fields of work, compared with the fields' own tools (ARGS=...)
	$(BENCH)

# Experiments on virtual hosts. Results are in build/experiments.
experiments: all $(BENCH_X) $(SCATTERX)  ## all experiments on virtual hosts of unequal speed (root; ARGS=...)
	$(Q)BIN="$(abspath $(PROGDIR))" bench/experiments all $(ARGS)
experiments-quick: all $(BENCH_X) $(SCATTERX)  ## the same in a few minutes, judged loosely
	$(Q)BIN="$(abspath $(PROGDIR))" bench/experiments all --quick $(ARGS)
$(OBJ)/bin/bench/scatter_client: $(OBJ)/bench/scatter_client.o $(LIBPMPI) $(LIBPART)
	$(call link,$(LINKMPI),$(PART_LIBS))

# The benchmarks of planners, programs that print JSON lines.
$(OBJ)/bench/%_bench: $(OBJ)/bench/%_bench.o $(LIBPART)
	$(call link,$(LINK),$(PART_LIBS) -Wl$(comma)--as-needed $(GSL_LIBS))
bench-plan bench-scatter bench-chain: bench-%: $(OBJ)/bench/%_bench  ## measure a planner (ARGS=...)
	$(Q)$< $(ARGS)
bench-learning: $(OBJ)/bench/learning_bench  ## how a cost is learnt, as figures and a plot (ARGS=...)
	$(Q)$< $(ARGS) >$(OBJ)/bench/learning.jsonl
	$(Q)bench/learning-plot $(OBJ)/bench/learning.jsonl

# Sorting in memory over ranks: one per processor of the machine, or RANKS.
RANKS ?= $(shell nproc)
$(OBJ)/bench/library_bench: $(OBJ)/bench/library_bench.o $(OBJ)/libhetsort.a $(LIBPART)
	$(call link,$(LINKMPI),$(PART_LIBS))
bench-library: $(OBJ)/bench/library_bench  ## measure sorting in memory over RANKS ranks (ARGS=...)
	$(Q)scripts/mpirun $(RANKS) $< $(ARGS)

# Sorting in memory, compared with the C++ libraries that are installed, if there is a C++ compiler.
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
