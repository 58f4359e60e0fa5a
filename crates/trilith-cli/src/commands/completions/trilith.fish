# Completions of trilith for fish; `trilith __complete` knows what may follow.
function __trilith_complete
    set -l words (commandline -opc)
    set -l current (string replace -r '^["\']' '' -- (commandline -ct))
    set -l lines (command trilith __complete fish -- $words[2..-1] "$current" 2>/dev/null)
    if test "$lines[1]" = files
        __fish_complete_path "$current"
    else if test (count $lines) -gt 1
        printf '%s\n' $lines[2..-1]
    end
end
complete -c trilith -f -a '(__trilith_complete)'
