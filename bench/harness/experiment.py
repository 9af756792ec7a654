# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that describe an experiment: the hosts as in a platform of hetsim(1), and what to sort on them.

  title Three speeds                            printed, and above the plot
  records 2M                                    records that each job sorts; k, M and G are powers of 1000
  keys ascii                                    10 printable characters instead of binary keys; skew: many are equal
  rounds 5                                      each round runs every variant once [3]
  2 x speed 1 net 1G                            hosts, with the properties of hetsim(1)
  2 x speed 1/1.5 net 1G                        a value may be a quotient
  equal: --plan equal                           a variant: its name, and its options of hetsort(1)
  planned: --speeds {speeds}                    {speeds}, {links} and {disks} are the values of the hosts
  online jobs 3: --plan online                  three jobs one after the other in each round; the last one counts
  single hosts 1 rounds 2: --plan equal         on the first host only, in the first two rounds
  threads second 1:                             exchange threads have a second processor, 1 times as fast
  steady steady:                                not affected by `at` lines
  at 2s host 3 speed 1/4                        host 3 changes during the job, as in hetsim(1)
  at 10% host 3 speed 1/4                       the same, at a part of the time that the job takes without it
  vary factor 1 1.5 2                           the experiment for each value of {factor}
  published equal 125.4                         seconds in a publication, for the comparison
  expect planned/equal 0.5 0.95                 the ratio of two variants is in this range
  expect planned/equal 0.9 1.2 ideal            the ratio over the ideal ratio is in this range

Only hosts and variants are necessary; # begins a comment. The first variant is the base of all ratios. Links without `net`
are as fast as possible, and disks without `disk` take no time."""

import re
import shlex

from . import job, judge

UNITS = {"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
KEYS = tuple(judge.FLAGS)
NUMBER = r"((?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
FAST_NET = "100G"  # of hosts without a rate
PROPERTIES = ("speed", "cores", "mem", "disk", "net", "lat")
NAME = r"[A-Za-z0-9][A-Za-z0-9_+.-]*"


class Bad(Exception):
    """A line that makes no sense, as the end of a sentence."""


def number(text, least=0.0):
    """Return the value of '2', '1e6', '2M' or '1/1.5'."""
    m = re.fullmatch(NUMBER + r"(?:/" + NUMBER + r")?([kKMG]?)", text)
    value = float(m[1]) * UNITS[m[3]] if m else -1
    if m and m[2]:
        value = value / float(m[2]) if float(m[2]) else -1
    if not least <= value < 1e18:
        raise Bad(f"'{text}' is not a number" + (f" of {least:g} or more" if m else ""))
    return value


def whole(text):
    value = number(text, 1)
    if value != int(value):
        raise Bad(f"'{text}' is not a whole number")
    return int(value)


def rate(text):
    """Return bits or bytes per second of '10G', '100M/s' or '100M'."""
    return number(text.removesuffix("/s"), 1)


class Host:
    """A host: the words of its line, and the values that virtual hosts and options need."""

    def __init__(self, words):
        if len(words) % 2:
            raise Bad(f"'{words[-1]}' has no value")
        self.given = dict(zip(words[::2], words[1::2]))
        unknown = [w for w in self.given if w not in PROPERTIES]
        if unknown:
            raise Bad(f"'{unknown[0]}' is not a property of a host; they are {', '.join(PROPERTIES)}")
        self.speed = number(self.given.get("speed", "1"), 1e-6)
        self.cores = whole(self.given.get("cores", "1"))
        self.net = rate(self.given.get("net", FAST_NET))
        self.disk = rate(self.given.get("disk", "1000G/s"))

    def line(self):
        """Return the properties for hetsim, without quotients."""
        words = {"net": FAST_NET, **self.given, "speed": f"{self.speed:.6f}"}
        return "1 x " + " ".join(f"{k} {v}" for k, v in words.items())


def rates_of(hosts):
    """Return the lists of speeds, links and disks that options of hetsort take for these hosts."""
    mean = sum(h.cores for h in hosts) / len(hosts)  # hetsort divides the work of all ranks among this number
    lists = {"speeds": [h.speed * h.cores / mean for h in hosts], "links": [h.net / 8e6 for h in hosts],
             "disks": [h.disk / 1e6 for h in hosts]}
    return {name: ",".join(f"{v:.6g}" for v in values) for name, values in lists.items()}


def hosts_of(text):
    """Return the hosts of a line such as '2 x speed 1'."""
    count, _, *words = text.split()
    return [Host(words)] * whole(count)


class Variant:
    """One way to sort: its options, the number of hosts (None: all), jobs in a round, rounds (None: all), speed of second
    processors or 0, and whether `at` lines have no effect on it."""

    def __init__(self, name, attributes, options):
        self.name, self.options = name, shlex.split(options)
        self.hosts, self.jobs, self.rounds, self.second, self.steady = None, 1, None, 0.0, False
        words = attributes.split()
        while words:
            word = words.pop(0)
            if word == "steady":
                self.steady = True
            elif word in ("hosts", "jobs", "rounds", "second") and words:
                setattr(self, word, number(words.pop(0), 1e-3) if word == "second" else whole(words.pop(0)))
            else:
                raise Bad(f"'{word}' is not one of hosts N, jobs N, rounds N, second F and steady")


class Change:
    """An `at` line. `part` is a part of the time that the job takes without it, or None if `seconds` is given."""

    def __init__(self, words):
        m = re.fullmatch(NUMBER + r"(s|ms|%)", words[0]) if words else None
        if not m or len(words) not in (4, 5) or words[1] != "host" or (len(words) == 4) != (words[3] == "stop") or \
                words[3] not in ("stop", "speed", "disk", "net"):
            raise Bad("a change is 'at TIME host NUMBER speed|disk|net VALUE' or 'at TIME host NUMBER stop'")
        value = float(m[1]) * {"s": 1, "ms": 1e-3, "%": 0.01}[m[2]]
        self.part, self.seconds = (value, None) if m[2] == "%" else (None, value)
        self.host = int(number(words[2]))
        self.what, self.text = words[3], words[4] if len(words) == 5 else ""
        self.value = None if self.what == "stop" else number(self.text) if self.what == "speed" else rate(self.text)

    def line(self, after_s):
        """Return the line for hetsim, after this number of seconds."""
        value = f"{self.value:.6f}" if self.what == "speed" else self.text
        return f"at {after_s:.6f}s host {self.host} {self.what} {value}".rstrip()


class Case:
    """The experiment for one value of its `vary` line: hosts, variants and changes. The label is empty, or NAME=VALUE."""

    def __init__(self, value, label):
        self.value, self.label, self.hosts, self.variants, self.changes = value, label, [], [], []

    @property
    def speeds(self):
        return [h.speed for h in self.hosts]

    def options(self, variant):
        """Return the options of a variant, with the values of its hosts."""
        text = rates_of(self.hosts[:variant.hosts])
        return [re.sub(r"\{(speeds|links|disks)\}", lambda m: text[m[1]], word) for word in variant.options]

    def ideal(self):
        """Return the least time relative to equal shares, if the work is linear and only speeds differ; else None."""
        alike = {(h.cores, h.given.get("net"), h.given.get("disk")) for h in self.hosts}
        return min(self.speeds) * len(self.hosts) / sum(self.speeds) if len(alike) == 1 and not self.changes else None


class Experiment:
    """All of a file. `cases` has one Case for each value of `vary`, or one with the value None."""

    def __init__(self, text, name):
        self.text, self.name, self.title = text, name, name
        self.records, self.keys, self.rounds = 1000000, "binary", 3
        self.published, self.expectations, self.varied, self.cases = {}, [], None, []
        lines = [(n, line.split("#")[0].strip()) for n, line in enumerate(text.splitlines(), 1)]
        for n, line in lines:
            m = re.fullmatch(rf"vary\s+({NAME})\s+(.+)", line)
            if m:
                if self.varied:
                    raise job.Failed(f"'{name}', line {n}: only one 'vary' is possible")
                self.varied, values = m[1], m[2].split()
        for value in values if self.varied else [None]:
            case = Case(value, f"{self.varied}={value}" if self.varied else "")
            for n, line in lines:
                if self.varied:
                    line = line.replace("{" + self.varied + "}", value)
                try:
                    self._read(case, line)
                except Bad as e:
                    raise job.Failed(f"'{name}', line {n}: {e}") from None
            self._check(case)
            self.cases.append(case)

    def _read(self, case, line):
        """Read a line, by its form."""
        word, _, rest = line.partition(" ")
        if not line or word == "vary":
            return
        variant = word not in self.KEYS_OF_A_FILE and re.fullmatch(
            rf"(?P<name>{NAME})(?P<attributes>(?:\s+[a-z]+(?:\s+[0-9.]+)?)*)\s*:(?P<options>.*)", line)
        if re.fullmatch(r"\S+\s+x\b.*", line):
            case.hosts += hosts_of(line)
        elif variant:
            if variant["name"] in (v.name for v in case.variants):
                raise Bad(f"there are two variants '{variant['name']}'")
            case.variants.append(Variant(**variant.groupdict()))
        elif word == "at":
            case.changes.append(Change(rest.split()))
        elif word not in self.KEYS_OF_A_FILE:
            raise Bad(f"'{word}' is not known; see bench/experiments --format")
        elif not rest.strip():
            raise Bad(f"'{word}' has no value")
        else:
            self.KEYS_OF_A_FILE[word](self, rest.split())

    def _published(self, words):
        if len(words) != 2:
            raise Bad("a published time is 'published VARIANT SECONDS'")
        self.published[words[0]] = number(words[1], 1e-9)

    def _expect(self, words):
        if len(words) not in (3, 4) or words[0].count("/") != 1 or words[3:] not in ([], ["ideal"]):
            raise Bad("an expectation is 'expect VARIANT/VARIANT LEAST MOST', and 'ideal' after it if the limits are for"
                      " the ratio over the ideal one")
        found = (*words[0].split("/"), number(words[1]), number(words[2]), bool(words[3:]))
        if found not in self.expectations:
            self.expectations.append(found)

    def _keys(self, words):
        if words not in [[k] for k in KEYS]:
            raise Bad(f"keys are {', '.join(KEYS)}, not '{' '.join(words)}'")
        self.keys = words[0]

    KEYS_OF_A_FILE = {
        "title": lambda self, words: setattr(self, "title", " ".join(words)),
        "records": lambda self, words: setattr(self, "records", whole(" ".join(words))),
        "rounds": lambda self, words: setattr(self, "rounds", whole(" ".join(words))),
        "keys": _keys, "published": _published, "expect": _expect,
    }

    def _check(self, case):
        """Raise Failed if the file is not complete, or lines do not fit each other."""
        names = [v.name for v in case.variants]
        named = [*self.published, *(n for e in self.expectations for n in e[:2])]
        wrong = [n for n in named if n not in names]
        outside = [c.host for c in case.changes if c.host >= len(case.hosts)]
        more = [v.name for v in case.variants if v.hosts and v.hosts > len(case.hosts)]
        if not case.hosts or not case.variants:
            what = "host, such as '2 x speed 1'" if not case.hosts else "variant, such as 'equal: --plan equal'"
            raise job.Failed(f"'{self.name}' has no {what}; see bench/experiments --format")
        if wrong:
            raise job.Failed(f"'{self.name}' has no variant '{wrong[0]}', which 'published' or 'expect' names")
        if outside:
            raise job.Failed(f"'{self.name}' has no host {outside[0]}; hosts are 0 to {len(case.hosts) - 1}")
        if more:
            raise job.Failed(f"variant '{more[0]}' has more hosts than '{self.name}'")


def read(path):
    """Return the experiment in a file."""
    try:
        with open(path, encoding="utf-8") as f:
            text = f.read(1 << 20)
    except (OSError, UnicodeDecodeError) as e:
        raise job.Failed(f"cannot read '{path}': {getattr(e, 'strerror', None) or 'it is not text'}") from e
    return Experiment(text, path)
