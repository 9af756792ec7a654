# SPDX-License-Identifier: GPL-3.0-or-later
"""run_recipes.py RECIPES SCRATCH - follow the recipes in RECIPES as Spack, rattler-build and EasyBuild do: each installs
this build below SCRATCH, and its tests run the installed programs. Directives only have to be consistent."""
import glob
import os
import re
import subprocess
import sys
import tempfile
import types

import yaml

RECIPES, SCRATCH = map(os.path.abspath, sys.argv[1:])
ROOT, MPI = os.environ["ROOT"], os.environ.get("HAVE_MPI", "no")
VERSION = open(ROOT + "/VERSION").read().strip()
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("MFLAGS", "MAKELEVEL", "DESTDIR")}
# Nothing is compiled again: make gets the directories of this build.
ENVIRONMENT["MAKEFLAGS"] = "OBJ=%(OBJ)s PROGDIR=%(BIN)s" % os.environ


def shell(commands, prefix, directory):
    environment = dict(ENVIRONMENT, PREFIX=prefix, CPU_COUNT="2", PATH=prefix + "/bin:" + ENVIRONMENT["PATH"])
    done = subprocess.run(["bash", "-e", "-c", "\n".join(commands)], cwd=directory, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, (commands, done.stdout)
    return done.stdout


def exist(prefix, *files):
    missing = [file for file in files if not os.path.exists(os.path.join(prefix, file))]
    assert files and not missing, missing


# ------------------------------------------------------------------------------------------------- Spack
class Path(str):
    def __getattr__(self, name):
        return Path(os.path.join(self, name))


class Spec:
    def __init__(self, variants):
        self.variants = variants
        self.mpicc = os.environ.get("MPICC", "mpicc")

    def satisfies(self, variant):
        assert variant in ("+mpi", "+hwloc"), variant
        return variant in self.variants

    def __getitem__(self, package):
        assert package == "mpi" and "+mpi" in self.variants, package
        return self


class MakefilePackage:
    def __init__(self, *variants):
        self.spec, self.prefix = Spec(variants), Path(SCRATCH + "/spack")


def spack_recipe(said, made):
    """Return the class of the recipe. Directives are appended to said, the arguments of make to made."""
    class Executable:
        def __init__(self, path):
            self.path = path

        def __call__(self, *args, output=None):
            return subprocess.run([self.path, *args], check=True, text=True, stdout=subprocess.PIPE).stdout

    def check_outputs(wanted, found):
        for text in wanted:
            assert text in found, (text, found)

    def make(*args):
        made.append(args)
        if args[0] == "install":
            shell(["make -s " + " ".join(args)], "", ROOT)

    def directive(name):
        return lambda *args, **named: said.append((name, args, named))

    package = types.ModuleType("spack.package")
    for name in "maintainers", "license", "version", "variant", "depends_on":
        setattr(package, name, directive(name))
    package.__dict__.update(Executable=Executable, check_outputs=check_outputs, make=make,
                            join_path=os.path.join)
    makefile = types.ModuleType("makefile")
    makefile.MakefilePackage = MakefilePackage
    sys.modules.update({"spack": package, "spack.package": package, "spack_repo": makefile, "spack_repo.builtin": makefile,
                        "spack_repo.builtin.build_systems": makefile, "spack_repo.builtin.build_systems.makefile": makefile})
    path = RECIPES + "/spack_repo/hetsort/packages/hetsort/package.py"
    assert max(map(len, open(path))) <= 100  # with the newline; Spack's style
    recipe = {}
    exec(compile(open(path).read(), path, "exec"), recipe)
    return recipe["Hetsort"]


def spack():
    said, made = [], []
    recipe = spack_recipe(said, made)
    assert recipe.__doc__ and recipe.homepage.startswith("https://") and recipe.url.endswith("/hetsort-%s.tar.gz" % VERSION)
    versions = [(args, len(named["sha256"])) for name, args, named in said if name == "version"]
    assert versions == [((VERSION,), 64)], versions
    variants = {args[0] for name, args, named in said if name == "variant" and named["description"]}
    needs = [(args[0], named) for name, args, named in said if name == "depends_on"]
    used = {named["when"][1:] for _, named in needs if named.get("when", "").startswith("+")}
    assert variants == used == {"mpi", "hwloc"}, (variants, used)
    assert {"c", "jansson", "xxhash", "glpk", "gsl"} <= {name for name, _ in needs}, needs
    assert {named["type"] for name, named in needs if name in ("c", "pkgconfig")} == {"build"}

    recipe().build(None, None)
    recipe("+mpi", "+hwloc").check()
    assert made[0][0] == "all" and {"MPI=no", "HWLOC=no"} < set(made[0]) and not any("MPICC" in word for word in made[0])
    assert made[1][0] == "check" and {"MPI=yes", "HWLOC=yes"} < set(made[1]) and made[1][-1].startswith("MPICC=")
    package = recipe(*["+mpi"][:MPI == "yes"], "+hwloc")
    package.install(None, None)
    prepended = {}
    package.setup_run_environment(types.SimpleNamespace(prepend_path=prepended.__setitem__))
    exist(prepended["PYTHONPATH"], "hetpart.py", "hetsort/__init__.py")
    tests = sorted(name for name in dir(package) if name.startswith("test_"))
    assert tests and all(getattr(package, name).__doc__ for name in tests), tests
    for name in tests:
        with tempfile.TemporaryDirectory(dir=SCRATCH) as directory:
            os.chdir(directory)
            getattr(package, name)()
    os.chdir(SCRATCH)


# ------------------------------------------------------------------------------------- conda and EasyBuild
def conda():
    recipe = yaml.safe_load(open(RECIPES + "/conda/recipe.yaml"))
    mpis = yaml.safe_load(open(RECIPES + "/conda/conda_build_config.yaml"))["mpi"]
    assert "nompi" in mpis and recipe["context"]["version"] == VERSION and len(recipe["source"]["sha256"]) == 64
    # As conda-smithy lints them.
    assert list(recipe) == "schema_version context package source build requirements tests about extra".split()
    assert recipe["extra"]["recipe-maintainers"]
    assert {"homepage", "summary", "license", "license_file"} <= recipe["about"].keys()
    exist(ROOT, recipe["about"]["license_file"])
    prefix = SCRATCH + "/conda"
    # The only expression in the script; its definition is compared, not computed.
    assert recipe["context"]["with_mpi"] == '${{ "no" if mpi == "nompi" else "yes" }}'
    script = [line.replace("${{ with_mpi }}", MPI) for line in recipe["build"]["script"]]
    assert "${{" not in "".join(script)
    shell(script, prefix, ROOT)
    commands, contents = recipe["tests"]
    with tempfile.TemporaryDirectory(dir=SCRATCH) as directory:
        shell(commands["script"], prefix, directory)
    contents = contents["package_contents"]
    exist(prefix, *contents["files"], *("bin/" + name for name in contents["bin"]),
          *("include/" + name for name in contents["include"]), *("lib/lib%s.so" % name for name in contents["lib"]))
    assert sorted(contents["bin"]) == sorted(os.listdir(prefix + "/bin"))


def easybuild():
    path, = glob.glob(RECIPES + "/*.eb")
    recipe = {"SOURCE_TAR_GZ": "hetsort-%s.tar.gz" % VERSION, "SHLIB_EXT": "so"}
    exec(compile(open(path).read(), path, "exec"), recipe)
    assert os.path.basename(path) == "{name}-{version}-{toolchain[name]}-{toolchain[version]}.eb".format(**recipe)
    assert recipe["version"] == VERSION and recipe["skipsteps"] == ["configure"] and len(recipe["checksums"][0]) == 64
    for wanted in "easyblock homepage description moduleclass source_urls".split():
        assert recipe[wanted], wanted
    if MPI == "yes":
        prefix = SCRATCH + "/easybuild"
        shell(["make -s " + recipe["buildopts"], "make -s install " + recipe["installopts"] % {"installdir": prefix}], prefix, ROOT)
        shell(recipe["sanity_check_commands"], prefix, SCRATCH)
        exist(prefix, *recipe["sanity_check_paths"]["files"], *recipe["sanity_check_paths"]["dirs"],
              *recipe["modextrapaths"].values())


os.makedirs(SCRATCH)
for follow in spack, conda, easybuild:
    try:
        follow()
    except Exception as error:
        sys.exit("%s: %s %s" % (follow.__name__, type(error).__name__, re.sub(r"\\n", "\n", str(error))))
