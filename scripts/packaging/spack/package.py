# SPDX-License-Identifier: GPL-3.0-or-later
"""Spack recipe. Put it into packages/hetsort/ of a repository of your own (spack repo create), make the source
archive (make dist) and call spack in the directory where it lies."""
import os

from spack.package import *

try:  # Spack 1.0 and later
    from spack_repo.builtin.build_systems.makefile import MakefilePackage
except ImportError:
    pass


class Hetsort(MakefilePackage):
    """Sorts fixed-length records on machines of unequal speed, and plans such work."""

    homepage = "file://" + os.getcwd() + "/README.md"
    url = "file://" + os.getcwd() + "/hetsort-0.3.0.tar.gz"
    manual_download = True

    license("GPL-3.0-or-later")

    # Add sha256="..." of the archive that you install: spack checksum hetsort
    version("0.3.0")

    variant("mpi", default=True, description="Ranks on several machines")
    variant("hwloc", default=True, description="Threads bound to NUMA nodes")

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("glpk")
    depends_on("gsl")
    depends_on("hwloc@2:", when="+hwloc")
    depends_on("isa-l")
    depends_on("jansson")
    depends_on("mpi", when="+mpi")
    depends_on("xxhash")
    depends_on("cmocka", type="test")

    def settings(self):
        return [
            "PREFIX=" + self.prefix,
            "MPI=" + ("yes" if "+mpi" in self.spec else "no"),
            "HWLOC=" + ("yes" if "+hwloc" in self.spec else "no"),
        ] + (["MPICC=" + self.spec["mpi"].mpicc] if "+mpi" in self.spec else [])

    def build(self, spec, prefix):
        make("all", *self.settings())

    def check(self):
        make("check", *self.settings())

    def install(self, spec, prefix):
        make("install", *self.settings())

    def setup_run_environment(self, env):
        env.prepend_path("PYTHONPATH", self.prefix.share.hetpart.python)
