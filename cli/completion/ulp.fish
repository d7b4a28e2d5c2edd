# fish completion of ulp, which tells what may follow.
function __ulp_complete
    set -l words (commandline -opc)
    set -l now (commandline -ct)
    set -l told ($words[1] complete $words[2..-1] "$now" 2>/dev/null)
    printf '%s\n' $told[2..-1]
    if test "$told[1]" = files
        set -l option (string match -r '^--[^=]*=' -- $now; or echo)
        printf '%s\n' $option(__fish_complete_path (string replace -r '^--[^=]*=' '' -- $now))
    end
end
complete -c ulp -f -a '(__ulp_complete)'
