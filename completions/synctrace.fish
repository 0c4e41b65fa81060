# SPDX-License-Identifier: Apache-2.0
# Completion for fish. synctrace itself knows its commands and options: cli/completion.h says how it answers.
function __synctrace_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l answer ($words[1] complete-words $words[2..-1] 2>/dev/null)
    switch "$answer[1]"
        case ':program *'
            __fish_complete_subcommand --fcs-skip=(math (string replace ':program ' '' -- $answer[1]) + 1)
        case :folders
            __fish_complete_directories (commandline -ct)
        case :files
            __fish_complete_path (commandline -ct)
        case '*'
            set -q answer[1]; and printf '%s\n' $answer
    end
end
complete -c synctrace -f -a '(__synctrace_complete)'
