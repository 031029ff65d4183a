"""Do the links in the documents lead somewhere? Arguments: Markdown files. Checked are relative links,
their anchors (a heading's text as GitHub makes it), and names of files of this repository in
`backquotes` with a slash. Prints one line per dead one and ends with 1."""
import os
import re
import sys


def plain(text):
    return re.sub(r"```.*?```", "", text, flags=re.S)


def anchors(path):
    found, text = {}, plain(open(path, encoding="utf-8").read())
    for heading in re.findall(r"^#+ (.*)$", text, re.M):
        slug = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        number = found.get(slug, 0)
        found[slug] = number + 1
        if number:
            found[f"{slug}-{number}"] = 1
    return found


bad = links = 0
for page in sys.argv[1:]:
    text = plain(open(page, encoding="utf-8").read())
    folder = os.path.dirname(page)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        links += 1
        name, _, anchor = link.partition("#")
        target = os.path.normpath(os.path.join(folder, name)) if name else page
        if not os.path.exists(target):
            print(f"{page}: {link}: there is no {target}")
            bad += 1
        elif anchor and anchor not in anchors(target):
            print(f"{page}: {link}: {target} has no heading of that name")
            bad += 1
    for name in re.findall(r"`([a-z][\w.\-]*(?:/[\w.\-]+)+)`", text):
        if not os.path.isdir(name.split("/")[0]) or name.startswith(("build/", "run/")):
            continue
        links += 1
        if not os.path.exists(name):
            print(f"{page}: `{name}`: there is no such file")
            bad += 1
if links == 0:
    print("no link was found at all")
sys.exit(bad > 0 or links == 0)
