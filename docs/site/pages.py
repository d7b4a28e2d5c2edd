"""pages.py FOLDER: writes the pages of the site: README and docs, with links to what is no page as text, and an index of the Python
package. Run in the project's root."""

import inspect
import pathlib
import re
import shutil
import sys

LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")
MORE = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")


def page_of(path):
    """The name in the site of a file of the project."""
    if path == pathlib.Path("README.md"):
        return "index.md"
    if path.parent == pathlib.Path("docs") or str(path) in MORE:
        return path.name
    return None


def rewritten(text, folder):
    def link(found):
        shown, target = found.groups()
        if re.match(r"\w+:|#", target):
            return found[0]
        file, _, anchor = target.partition("#")
        path = pathlib.Path(*[p for p in (folder / file).parts])
        path = pathlib.Path(re.sub(r"[^/]+/\.\./", "", str(path)))
        name = page_of(path)
        if name is None:
            return shown
        if not path.is_file():
            raise SystemExit(f"{folder}: links to {target}, which is not there")
        return f"[{shown}]({name}{'#' + anchor if anchor else ''})"

    return LINK.sub(link, text)


def index_of_python():
    import ulpscope

    lines = ["# The Python package", "", "What `help()` shows, too. [python.md](python.md) tells how the parts work together.", ""]
    for name in sorted(ulpscope.__all__, key=str.lower):
        thing = getattr(ulpscope, name)
        kind = "class" if inspect.isclass(thing) else "function" if callable(thing) else None
        if kind is None:
            continue
        lines += ["```{eval-rst}", f".. auto{kind}:: ulpscope.{name}" + ("\n   :members:" if kind == "class" else ""), "```", ""]
    return "\n".join(lines)


def main(out):
    out.mkdir(parents=True)
    readme = pathlib.Path("README.md").read_text(encoding="utf-8")
    ordered = list(dict.fromkeys(re.findall(r"docs/([\w-]+)\.md", readme)))
    files = sorted(path.stem for path in pathlib.Path("docs").glob("*.md"))
    lost = [name for name in files if name not in ordered]
    if lost:
        raise SystemExit(f"README.md names no page {', '.join(lost)}")
    toc = ["```{toctree}", ":hidden:", "", *ordered, "python-package", *(name[:-3] for name in MORE), "```", ""]
    headers = '<p>The C++ headers have <a href="cpp/index.html">pages of their own</a>.</p>\n'
    (out / "index.md").write_text(
        rewritten(readme.replace("docs/pictures/", "pictures/"), pathlib.Path()) + "\n" + headers + "\n" + "\n".join(toc),
        encoding="utf-8",
    )
    for name in files:
        text = (pathlib.Path("docs") / f"{name}.md").read_text(encoding="utf-8")
        (out / f"{name}.md").write_text(rewritten(text, pathlib.Path("docs")), encoding="utf-8")
    for name in MORE:
        (out / name).write_text(rewritten(pathlib.Path(name).read_text(encoding="utf-8"), pathlib.Path()), encoding="utf-8")
    shutil.copytree("docs/pictures", out / "pictures")
    (out / "python-package.md").write_text(index_of_python(), encoding="utf-8")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
