"""translations.py ROOT LUPDATE: every text of the viewer has a finished translation, with the placeholders of its source.

The texts are those that lupdate finds in gui now. What a translation has that no source has is an error, too. It skips where
lupdate is not installed."""
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

root, lupdate = sys.argv[1:3]
folder = os.path.join(root, "gui", "translations")


def messages(file):
    """By context, source and comment: the message."""
    found = {}
    for context in xml.etree.ElementTree.parse(file).getroot().iter("context"):
        for message in context.iter("message"):
            found[context.findtext("name"), message.findtext("source"), message.findtext("comment")] = message
    return found


def placeholders(text):
    return sorted(set(re.findall(r"%(?:L?[0-9]+|n)", text)))


def problems_of(message):
    source, translation = message.findtext("source"), message.find("translation")
    if translation is None or translation.get("type"):
        return ["is not translated, or not finished"]
    forms = [form.text or "" for form in translation.iter("numerusform")] or [translation.text or ""]
    problems = []
    for form in forms:
        if not form.strip():
            problems.append("has an empty translation")
        elif placeholders(form) != placeholders(source):
            problems.append(f"has {placeholders(source)}, its translation {placeholders(form)}")
        elif form.count("&") != source.count("&"):
            problems.append("and its translation do not both have a key after &")
    return problems


if not os.path.exists(lupdate):
    print("SKIPPED: lupdate is not installed (qt6-l10n-tools)")
    sys.exit(0)
with tempfile.TemporaryDirectory() as scratch:
    fresh = os.path.join(scratch, "fresh.ts")
    said = subprocess.run([lupdate, os.path.join(root, "gui"), "-ts", fresh], capture_output=True, text=True, check=True)
    # A text of a class without Q_OBJECT has another context at run time: it would stay English.
    lacking = [line for line in said.stderr.splitlines() if "Q_OBJECT" in line]
    wanted = messages(fresh)
if len(wanted) < 500:
    sys.exit(f"lupdate found only {len(wanted)} texts in gui")
failures = list(lacking)
for name in sorted(os.listdir(folder)):
    given = messages(os.path.join(folder, name))
    for key in wanted.keys() - given.keys():
        failures.append(f"{name}: {key[0]}: '{key[1]}' is missing: run lupdate, as CONTRIBUTING.md has it")
    for key in given.keys() - wanted.keys():
        failures.append(f"{name}: {key[0]}: '{key[1]}' is in no source: run lupdate, as CONTRIBUTING.md has it")
    for key, message in given.items():
        failures += [f"{name}: {key[0]}: '{key[1]}' {problem}" for problem in problems_of(message)]
print("\n".join(sorted(failures)))
sys.exit(1 if failures else 0)
