#!/bin/sh
# debian_files.sh STAGE PACKAGE SOURCE RELEASE MAINTAINER DAGRE_COPYRIGHT
# Writes copyright and changelog of a package below STAGE (its /usr), and compresses its manuals.
set -eu
stage=$1 package=$2 source=$3 release=$4 maintainer=$5 dagre=$6
doc=$stage/share/doc/$package
mkdir -p "$doc"

{
  echo "pxl"
  echo
  cat "$source/LICENSE"
  echo
  echo "The page that \`pxl graph\` writes contains the layout library dagre, whose terms are:"
  echo
  cat "$dagre"
} >"$doc/copyright"

# Headings `## VERSION (YYYY-MM-DD)` and their items, which are joined and wrapped anew.
entry= item=
say() {
  [ -z "$item" ] || printf '%s\n' "$item" | fold -s -w 74 | sed 's/ *$//; 1s/^/  * /; 2,$s/^/    /'
  item=
}
finish() { [ -z "$entry" ] || printf '\n -- %s  %s\n' "$maintainer" "$(LC_ALL=C date -u -R -d "$entry")"; }
while IFS= read -r line; do
  case $line in
    "## "*)
      say
      finish
      version=${line#"## "} version=${version%% *}
      [ -z "$entry" ] || echo
      entry=${line##*"("} entry=${entry%")"}
      printf 'pxl (%s-%s) unstable; urgency=medium\n\n' "$version" "$release" ;;
    "- "*)
      [ -z "$entry" ] || say
      item=${line#"- "} ;;
    "  "*) item="$item ${line#"  "}" ;;
  esac
done <"$source/CHANGELOG.md" >"$doc/changelog.Debian"
{ say; finish; } >>"$doc/changelog.Debian"
gzip -9n "$doc/changelog.Debian"
if [ -f "$doc/CHANGELOG.md" ]; then mv "$doc/CHANGELOG.md" "$doc/changelog"; gzip -9n "$doc/changelog"; fi

find "$stage/share/man" -type f ! -name '*.gz' -exec gzip -9n {} + 2>/dev/null || true
find "$stage" -type d -exec chmod 755 {} +
find "$stage" -type f -exec chmod u=rwX,go=rX {} +
