# Completions of trilith for bash; `trilith __complete` knows what may follow.
_trilith() {
    local kind line word current="${COMP_WORDS[COMP_CWORD]}"
    COMPREPLY=()
    # Bash hands over an open quote with the word, and a variable or ~ as it was typed.
    current="${current#[\"\']}"
    {
        read -r kind
        while IFS=$'\t' read -r word line; do
            if [[ "${COMP_WORDS[COMP_CWORD]}" == [\"\']* ]]; then
                COMPREPLY+=("$word")
            else
                COMPREPLY+=("${word// /\\ }")
            fi
        done
    } < <(command trilith __complete bash -- "${COMP_WORDS[@]:1:COMP_CWORD-1}" "$current" 2>/dev/null)
    case "$kind" in
        parts) compopt -o nospace ;;
        files) compopt -o default -o filenames; COMPREPLY=() ;;
    esac
}
complete -F _trilith trilith
