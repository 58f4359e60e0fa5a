#compdef trilith
# Completions of trilith for zsh; `trilith __complete` knows what may follow.
_trilith() {
    local kind line
    local -a lines names shown
    lines=("${(@f)$(command trilith __complete zsh -- "${(@Q)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
    kind="$lines[1]"
    if [[ "$kind" == files ]]; then
        _files
        return
    fi
    for line in "${(@)lines[2,-1]}"; do
        names+=("${line%%$'\t'*}")
        shown+=("${line%%$'\t'*}  ${line#*$'\t'}")
    done
    (( $#names )) || return 1
    if [[ "$kind" == parts ]]; then
        compadd -S '' -l -d shown -- "$names[@]"
    else
        compadd -l -d shown -- "$names[@]"
    fi
}
if [[ "$funcstack[1]" == _trilith ]]; then
    _trilith "$@"
else
    compdef _trilith trilith
fi
