#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Loads a generated completion script into its shell and asks it for completions.
# usage: test_completions.sh PRINTER bash|zsh|fish; exits with 77 where the shell is missing.
set -eu

printer=$1
shell=$2
if ! command -v "$shell" >/dev/null; then
    echo "$shell is not installed"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
script=$work/script
"$printer" "$shell" >"$script"
"$shell" -n "$script"
mkdir -p "$work/here/sub"
touch "$work/here/file1" "$work/here/two words"
cd "$work/here"
# It is asked for the names of boxes. What a name has in it is never run.
mkdir "$work/bin"
cat >"$work/bin/my-app" <<'END'
#!/bin/sh
echo 'complaint' >&2
[ "$*" = 'completions --names boxes' ] && printf '%s\n' 'one first' 'other   2' 'x$(touch ran)'
END
chmod +x "$work/bin/my-app"
PATH=$work/bin:$PATH

failed=0
expect() # what was typed, what is offered, what should be
{
    if [ "$2" != "$3" ]; then
        printf '%s\n  offered: %s\n  wanted:  %s\n' "$1" "$2" "$3"
        failed=1
    fi
}

best_matches() # of the lines, those that begin so; if there is none, all
{
    awk -v typed="$1" '
        { all = all $0 "\n" }
        index($0, typed) == 1 { best = best $0 "\n" }
        END { printf "%s", best != "" ? best : all }'
}

case $shell in
bash)
    # shellcheck disable=SC1090
    source "$script"
    offer() # wanted, then the words up to the cursor
    {
        local wanted=$1
        shift
        COMP_WORDS=("$@")
        COMP_CWORD=$(($# - 1))
        _my_app
        expect "$*" "$(printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd '|')" "$wanted"
    }
    ;;
fish)
    offer()
    {
        local wanted=$1 line
        shift
        # Bash splits at '=' before it asks; fish does not.
        line=$(printf '%s' "$*" | sed 's/ = \{0,1\}/=/')
        # Since fish 4 the list holds loose matches too (--log in --allowed-origins), which the shell
        # shows only when nothing begins with what was typed.
        # shellcheck disable=SC2016
        expect "$line" "$(fish --no-config -c 'source $argv[1]; complete -C $argv[2]' "$script" "$line" |
            cut -f 1 | best_matches "${line##* }" | sed "s/^--[a-z-]*=//; s,/\$,," | sort | paste -sd '|')" "$wanted"
    }
    ;;
zsh)
    # Completion needs a terminal there: the syntax and the functions are what is checked.
    for name in _my_app _my_app_connect _my_app_show _my_app_box _my_app_box_list; do
        # shellcheck disable=SC2016
        expect "$name" "$(zsh -f -c 'compdef() { :; }; source $1; print $+functions[$2]' - \
            "$script" "$name")" 1
    done
    exit "$failed"
    ;;
esac

offer 'box|connect|show' my-app ''
offer 'connect' my-app con
offer '--log-file|--log-level' my-app connect --log
offer '--log-level' my-app --log
offer '--no-colour' my-app --no
offer '--all' my-app box list --a
offer 'debug|error|info|silent|warn' my-app connect --log-level ''
offer 'debug|error|info|silent|warn' my-app connect -l ''
offer 'debug' my-app --log-level = de
offer 'allow|ask|deny' my-app connect --permission-shell = ''
offer 'list|remove' my-app -l debug box ''
offer 'sub' my-app connect --dir ''
offer 'sub' my-app connect -d s
offer 'file1|sub|two words' my-app connect --log-file ''
offer '' my-app connect --port ''
offer '' my-app connect ''
offer 'sub' my-app connect url token ''
offer 'sub' my-app connect --port 80 -w url token ''
offer 'json|text' my-app show ''
offer 'json|text' my-app show -- ''
offer 'file1|sub|two words' my-app show text ''
offer 'file1' my-app show text file1 sub f
offer '' my-app box remove one ''
offer 'one' my-app box remove one
offer 'other' my-app box rm ot
offer '--all' my-app box ls --a
offer 'list' my-app box l
expect 'what a name would run' "$(ls)" "$(printf 'file1\nsub\ntwo words')"

if [ "$shell" = bash ]; then
    # Where '=' breaks no words, the whole word is replaced.
    offer '--log-level=debug' my-app --log-level=de
    offer '--dir=sub' my-app connect --dir=
    offer '' my-app show -- text -
    offer 'x\$\(touch' my-app box remove x
    # shellcheck disable=SC2034
    expect 'variables left behind' "$(set | grep -cE '^(flags|valued|kind|place|command)=')" 0
fi
exit "$failed"
