# SPDX-License-Identifier: GPL-3.0-or-later
# The installed files and their directories, and source archives for releases. The Makefile includes this file.

# Directories of the installation. PROGDIR, where the build puts programs, is not one of them.
BINDIR     ?= $(PREFIX)/bin
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR    ?= $(PREFIX)/share
MANDIR     ?= $(DATADIR)/man
DOCDIR     ?= $(DATADIR)/doc/hetsort
BASHDIR    ?= $(DATADIR)/bash-completion/completions
ZSHDIR     ?= $(DATADIR)/zsh/site-functions
# The directory of the Python interpreter, if it is below PREFIX. Only an installation asks the interpreter.
ifneq ($(filter install% uninstall,$(MAKECMDGOALS)),)
PYTHONDIR  ?= $(PYTHON_OWN)
PYTHON_OWN := $(or $(shell python3 -c 'import site; print(*site.getsitepackages(), sep="\n")' 2>/dev/null | \
                grep '^$(PREFIX)/lib/python' | head -n 1),$(DATADIR)/hetpart/python)
endif

# Manuals. A call without a page of its own name gets a page that points to the one that describes it.
man_of   = $(strip $(foreach r,$(1),$(wildcard $(r)/man/*.$(2))))
MAN3     := $(call man_of,partition $(if $(LIBPMPI),partition/mpi),3)
SORT_MAN3 := $(call man_of,sort,3)
aliases  = $(addprefix $(OBJ)/man3/,$(filter-out $(notdir $(1)),$(addsuffix .3,$(shell awk -f partition/pkg/man-names.awk \
             $(1) /dev/null | cut -d' ' -f1))))
ALIASES  := $(call aliases,$(MAN3))
SORT_ALIASES := $(call aliases,$(SORT_MAN3))
$(ALIASES) $(SORT_ALIASES): $(MAN3) $(SORT_MAN3) partition/pkg/man-names.awk
	$(Q)mkdir -p $(@D); awk -f partition/pkg/man-names.awk $(MAN3) $(SORT_MAN3) | \
	  sed -n 's|^$(basename $(@F)) \(.*\)|.so man3/\1.3|p' >$@

html:  ## manuals and documents as HTML, in build/html (mandoc, lowdown)
	$(Q)rm -rf build/html && scripts/html build/html $(sort $(foreach s,1 3 5 7,$(call man_of,$(PARTS) partition/mpi,$s)))

# Files that hold the paths of this installation. Their directory is named after these paths, so that two installations
# at a time do not disturb each other.
FILLED  := $(OBJ)/install/$(shell printf '%s' "$(subst ",,$(PREFIX) $(LIBDIR) $(INCLUDEDIR) $(PYTHONDIR))" | cksum | cut -d' ' -f1)
FILL     = rm -f $@; mkdir -p $(@D); sed -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' \
           -e 's|@PYTHONDIR@|$(PYTHONDIR)|' -e 's|@VERSION@|$(VERSION)|' -e 's|@SOMAJOR@|$(SOMAJOR)|' -e 's|@MPI@|$(MPI)|' \
           -e 's|@NO_MPI@|$(if $(WITH_MPI),, -DHETSORT_NO_MPI)|' -e 's|=$(PREFIX)/|=$(if $(filter %.pc,$@),$${prefix},$(PREFIX))/|' \
           -e 's|@PREFIX@|$(PREFIX)|' $< >$@
$(FILLED)/%: partition/pkg/%.in FORCE
	$(Q)$(FILL)
$(FILLED)/%: sort/pkg/%.in FORCE
	$(Q)$(FILL)
$(FILLED)/%.py: python/%.py FORCE
	$(Q)$(FILL)
# A version of one library is a version of the other.
$(FILLED)/hetsort-config-version.cmake: partition/pkg/hetpart-config-version.cmake.in FORCE
	$(Q)$(FILL)

# bash looks for completions by the name of the program: links to one file.
COMPLETIONS = $(addprefix $(OBJ)/completion/,$(filter-out hetsort,$(PROGRAMS)))
$(COMPLETIONS):
	$(Q)mkdir -p $(@D); ln -sf hetsort $@
$(OBJ)/completion/hetsort: scripts/completion/hetsort.bash
	$(Q)mkdir -p $(@D); cp -f $< $@

# The tables of what is installed: HOW (a mode, or link), directory, files. Each row is applied by $(1): put, drop, tidy
# or files.
define planner_files
$(call $(1),644,$(LIBDIR),$(LIBPART) $(LIBPMPI))
$(call $(1),755,$(LIBDIR),$(filter %.so.$(VERSION),$(LIBPARTS) $(LIBPMPIS)))
$(call $(1),link,$(LIBDIR),$(SOLINKS) $(MPISOLINKS))
$(call $(1),644,$(INCLUDEDIR),partition/include/hetpart.h partition/fortran/hetpart.f90 $(if $(LIBPMPI),partition/mpi/include/hetpart_mpi.h))
$(call $(1),644,$(LIBDIR)/pkgconfig,$(FILLED)/hetpart.pc $(if $(LIBPMPI),$(FILLED)/hetpart_mpi.pc))
$(call $(1),644,$(LIBDIR)/cmake/hetpart,$(FILLED)/hetpart-config.cmake $(FILLED)/hetpart-config-version.cmake)
$(call $(1),644,$(PYTHONDIR),python/hetpart.py $(FILLED)/_hetlibrary.py)
$(call $(1),644,$(DATADIR)/hetpart/examples,$(wildcard partition/examples/* $(if $(LIBPMPI),partition/mpi/examples/*.c)))
$(call $(1),644,$(MANDIR)/man3,$(MAN3) $(ALIASES))
$(call $(1),644,$(MANDIR)/man5,$(call man_of,partition,5))
endef
define sorter_files
$(call $(1),755,$(BINDIR),$(addprefix $(PROGDIR)/,$(PROGRAMS)))
$(call $(1),755,$(LIBDIR)/hetsort,$(addprefix $(PROGDIR)/,$(PLUGIN)))
$(call $(1),644,$(MANDIR)/man1,$(call man_of,$(filter-out $(if $(BURN_SRC),,bench),$(PARTS)),1))
$(call $(1),644,$(MANDIR)/man5,$(call man_of,$(filter-out partition,$(PARTS)),5))
$(call $(1),644,$(MANDIR)/man7,$(call man_of,$(PARTS),7))
$(call $(1),644,$(DOCDIR),README.md CHANGELOG.md SECURITY.md LICENSE)
$(call $(1),644,$(DOCDIR)/docs,$(wildcard docs/*.md docs/*.png))
$(call $(1),644,$(DOCDIR)/docs/plots,$(wildcard docs/plots/*.svg))
$(call $(1),644,$(DOCDIR)/docs/jobs,$(wildcard docs/jobs/*))
$(call $(1),644,$(BASHDIR),$(OBJ)/completion/hetsort)
$(call $(1),link,$(BASHDIR),$(COMPLETIONS))
$(call $(1),644,$(ZSHDIR),scripts/completion/_hetsort)
$(call $(1),644,$(LIBDIR),$(OBJ)/libhetsort.a)
$(call $(1),755,$(LIBDIR),$(filter %.so.$(VERSION),$(SORTLIBS)))
$(call $(1),link,$(LIBDIR),$(SORTLINK))
$(call $(1),644,$(INCLUDEDIR),sort/include/hetsort.h sort/include/hetsort.hpp sort/fortran/hetsort.f90)
$(call $(1),644,$(LIBDIR)/pkgconfig,$(FILLED)/hetsort.pc)
$(call $(1),644,$(LIBDIR)/cmake/hetsort,$(FILLED)/hetsort-config.cmake $(FILLED)/hetsort-config-version.cmake)
$(call $(1),644,$(PYTHONDIR)/hetsort,$(wildcard python/hetsort/*.py))
$(call $(1),644,$(DATADIR)/hetsort/examples,$(wildcard python/examples/*.py) $(wildcard sort/examples/*))
$(call $(1),644,$(MANDIR)/man3,$(SORT_MAN3) $(SORT_ALIASES))
endef

define newline


endef
files = $(3)
put   = $(if $(strip $(3)),install -d '$(DESTDIR)$(2)'$(newline)$(if $(filter link,$(1)),cp -Pf,install -m $(1)) $(3) '$(DESTDIR)$(2)'$(newline))
drop  = $(if $(strip $(3)),rm -f $(patsubst %,'$(DESTDIR)$(2)/%',$(notdir $(3)))$(newline))
# Remove directories that are empty now: all of them below DESTDIR, otherwise only those that are ours.
tidy  = $(if $(DESTDIR),cd '$(DESTDIR)' && rmdir -p '.$(2)' 2>/dev/null || true$(newline))
AFTER_INSTALL = $(Q)scripts/after-install '$(if $(filter yes,$(SHARED)),$(LIBDIR))' '$(DESTDIR)'

install: all $(strip $(call planner_files,files) $(call sorter_files,files))  ## install below PREFIX (DESTDIR honoured)
	$(call planner_files,put)$(newline)$(call sorter_files,put)
	$(AFTER_INSTALL) '$(BINDIR)'
install-lib: lib $(strip $(call planner_files,files))  ## install only the planner's libraries
	$(call planner_files,put)
	$(AFTER_INSTALL)

# Also removes what another installation, with MPI or with a shared library, may have put there.
uninstall: LIBPMPI = $(OBJ)/libhetpart_mpi.a
uninstall: MAN3 = $(call man_of,partition partition/mpi,3)
uninstall: ALIASES = $(call aliases,$(MAN3))
uninstall: PLUGIN = libhetsort-openmpi.so libhetsort-mpich.so
uninstall: LIBPARTS = $(LIBPART) $(OBJ)/$(SOFILE)
uninstall: LIBPMPIS = $(LIBPMPI) $(OBJ)/$(MPISOFILE)
uninstall: SORTLIBS = $(OBJ)/libhetsort.a $(OBJ)/$(SORTSO)
uninstall: SOLINKS = $(OBJ)/libhetpart.so $(OBJ)/$(SONAME)
uninstall: MPISOLINKS = $(OBJ)/libhetpart_mpi.so $(OBJ)/$(MPISONAME)
uninstall: SORTLINK = $(OBJ)/libhetsort.so $(OBJ)/libhetsort.so.$(SOMAJOR)
OWN_DIRS = $(LIBDIR)/cmake/hetpart $(PYTHONDIR)/hetsort $(PYTHONDIR) $(DATADIR)/hetpart/examples $(DATADIR)/hetpart \
           $(LIBDIR)/hetsort $(LIBDIR)/cmake/hetsort $(DATADIR)/hetsort/examples $(DATADIR)/hetsort $(DOCDIR)/docs/plots \
           $(DOCDIR)/docs/jobs $(DOCDIR)/docs $(DOCDIR)
uninstall:  ## remove what install put there
	$(call planner_files,drop)$(newline)$(call sorter_files,drop)
	$(foreach m,__pycache__/hetpart __pycache__/_hetlibrary hetsort/__pycache__/*,rm -f '$(DESTDIR)$(PYTHONDIR)'/$m.*.pyc$(newline))
	rmdir '$(DESTDIR)$(PYTHONDIR)/__pycache__' '$(DESTDIR)$(PYTHONDIR)/hetsort/__pycache__' 2>/dev/null || true
	$(call planner_files,tidy)$(newline)$(call sorter_files,tidy)
	rmdir $(patsubst %,'$(DESTDIR)%',$(OWN_DIRS)) 2>/dev/null || true

# A commit gives the same archive everywhere: recipes contain its checksum.
SAME_BYTES = -c tar.tar.gz.command='gzip -9n' -c tar.umask=0022 -c core.autocrlf=false
ARCHIVE = hetsort-$(VERSION).tar.gz
dist:  ## a source archive of HEAD: hetsort-VERSION.tar.gz
	$(Q)[ -e .git ] || { echo "make: no git repository here: this is unpacked from an archive already" >&2; exit 1; }
	$(Q)git diff --quiet HEAD || echo "make: changes that are not committed are not in $(ARCHIVE)" >&2
	$(Q)git $(SAME_BYTES) archive --prefix=hetsort-$(VERSION)/ -o $(ARCHIVE) HEAD

# For a local archive: make recipes URL=file://$PWD
RECIPES = build/recipes
recipes: dist  ## recipes of Spack, conda and EasyBuild for this archive, in build/recipes (URL=..., MAINTAINERS=...)
	$(Q)scripts/packaging/recipes $(ARCHIVE) '$(RECIPES)' '$(URL)' '$(MAINTAINERS)'

distcheck: dist  ## unpack the archive, build, test, install and uninstall it (TESTS=...)
	$(Q)scripts/distcheck $(ARCHIVE) $(OBJ)/distcheck
