"""The figures in docs/theory.md, read from the tables of benchmarks/theory.py when the pages are built."""

import csv
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Words = dict[str, Any]

RESULTS = Path(__file__).parent.parent / "benchmarks" / "results"


def table(section: str) -> list[Row]:
    """Return the rows of a section, numbers as numbers."""
    with (RESULTS / f"theory_{section}.csv").open(newline="") as file:
        return [{name: _read(value) for name, value in row.items()} for row in csv.DictReader(file)]


def _read(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _text(number: float) -> str:
    return f"{number:.2g}" if number >= 0.001 else f"{number:.0e}".replace("e-0", "e-")


def _ends(name: str, rows: list[Row]) -> Words:
    values = [row["mean / bound"] for row in rows]
    return {f"{name}_low": _text(min(values)), f"{name}_high": _text(max(values))}


def _exponents(name: str, rows: list[Row]) -> Words:
    found: Words = {}
    for row in rows:
        for factor in "nk":
            found[f"{name}_{row['instance']}_{factor}"] = row[f"exponent of {factor}"]
        found[f"{name}_bound"] = f"{row['bound: exponent of n']:g}, {row['bound: exponent of k']:g}"
    return found


def substitutions() -> Words:
    """Return what the page calls by name."""
    tables = {name: table(name) for name in ("kcenter", "ktmm", "kmedian", "kmeans", "fair", "compare")}
    words: Words = {}
    for name in ("kcenter", "ktmm", "kmedian", "kmeans", "fair"):
        words[f"{name}_cells"] = len(tables[name])
        words[f"{name}_passed"] = sum(row["pass"] == "True" for row in tables[name])
        words[f"{name}_members"] = f"{max(row['mean |P|'] for row in tables[name]):.3g}"
    rows = tables["kcenter"]
    for column in "nk":
        words[f"{column}_least"] = f"{min(row[column] for row in rows):.0f}"
        words[f"{column}_most"] = f"{max(row[column] for row in rows):.0f}"
    words["runs"] = f"{min(row['runs'] for row in rows):.0f}"
    hard = [row for row in rows if row["instance"] == "exponential"]
    words |= _ends("kcenter_easy", [row for row in rows if row["instance"] != "exponential"])
    words |= _ends("kcenter_hard", hard)
    worst = max(hard, key=lambda row: row["mean / bound"])
    words["kcenter_hard_where"] = f"n = {worst['n']:.0f}, k = {worst['k']:.0f}"
    largest = [row for row in hard if row["k"] == max(row["k"] for row in hard)]
    words["kcenter_large_least"] = f"{1 / max(row['mean / bound'] for row in largest):.2g}"
    words["kcenter_large_loss"] = f"{1 / min(row['mean / bound'] for row in largest):.2g}"
    words["kcenter_many"] = f"{max(row['runs'] for row in rows):.0f}"
    words["kcenter_members"] = f"{max(row['mean |P|'] for row in largest):.2g} at most"
    words |= _exponents("kcenter", rows)
    for name in ("kmedian", "kmeans"):
        first = [row for row in tables[name] if row["until"] == "size k"]
        ratio = [row for row in tables[name] if row["until"] != "size k"]
        easy = [row for row in ratio if row["instance"] != "exponential"]
        words |= _ends(f"{name}_size", first)
        words |= _ends(f"{name}_ratio", easy)
        words |= _ends(f"{name}_hard", [row for row in ratio if row["instance"] == "exponential"])
        same = {(row["instance"], row["n"], row["k"]): row for row in first}
        twins = [(row, same[row["instance"], row["n"], row["k"]]) for row in easy]
        words[f"{name}_easy"] = len(easy)
        words[f"{name}_free"] = sum(row["mean"] == twin["mean"] for row, twin in twins)
        words[f"{name}_proved"] = sum(row["sharper"] == twin["sharper"] for row, twin in twins)
    words |= _ends("fair", tables["fair"])
    words |= _ends("fair_hard", [row for row in tables["fair"] if row["instance"] == "separated"])
    words |= _exponents("fair", tables["fair"])
    return words | _compared(tables["compare"])


def _compared(rows: list[Row]) -> Words:
    """Return how many times the iterations of GSEMO others take per success, where both have one."""
    cost = {(row["instance"], row["algorithm"]): row["iterations per success"] for row in rows}
    words: Words = {}
    names = {"heavy": "gsemo, heavy-tailed", "nsga2": "nsga2", "nsga3": "nsga3", "sms": "sms-emoa", "moead": "moead"}
    for short, name in names.items():
        both = [(cost[i, name], cost[i, "gsemo"]) for i in dict.fromkeys(row["instance"] for row in rows)]
        times = [ours / plain for ours, plain in both if ours != "" != plain]  # nothing: no run got there
        words |= {f"{short}_low": f"{min(times):.2g}", f"{short}_high": f"{max(times):.2g}"}
    plain = {row["instance"]: row for row in rows if row["algorithm"] == "gsemo"}
    pairs = [(row, plain[row["instance"]]) for row in rows if row["algorithm"] != "gsemo"]
    pairs = [(a, b) for a, b in pairs if a["low"] != "" != b["low"]]
    for short, name in (("plain", "gsemo"), ("heavy", "gsemo, heavy-tailed")):
        words[f"{short}_failed"] = f"{sum(row['failed'] for row in rows if row['algorithm'] == name):.0f}"
    words["compare_pairs"] = len(pairs)
    apart = [a for a, b in pairs if a["low"] > b["high"] or b["low"] > a["high"]]
    words["compare_overlap"] = len(pairs) - len(apart)
    words["compare_apart"] = " and ".join(f"{row['algorithm']} on {row['instance']}" for row in apart) or "none"
    words["compare_runs"] = f"{sum(row['runs'] for row in plain.values()):.0f}"
    return words
