"""What random shell commands are made of: the forms, with places to be filled in.

Settles the forms. Does not settle how they are filled in (`tests.shell.grammar`).
INVARIANT: a loop runs a bounded number of times, and nothing is written behind a variable that may be empty.
"""

from __future__ import annotations

from tests.shell.draws import split


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


COMPOUND = _lines("""
    <test> && <sub>
    <sub> || <sub>
    true && <sub>
    false || <sub>
    <sub> | <sink>
    <sub> | <sink>
    <sub> |& <sink>
    <sub> | <simple>
    (<inner>)<redirect>
    { <inner>}<redirect>
    if <test>; then <inner>fi<redirect>
    if <test>; then <inner>else <inner>fi
    if <inner>then <inner>elif <test>; then <inner>else <inner>fi
    while true; do <inner>break; done
    until false; do <inner>break; done<redirect>
    while read -r X; do <inner>done < docs/x
    while read -r X; do <inner>done < <(ok1)
    for ((i=0; i<2; i++)); do <inner>done
    N=2; while (( N-- )); do <inner>done
    for X in <word> <word>; do <use><inner>done<redirect>
    for X in <path>; do <use><inner>done
    for A in <word>; do <use><inner>done
    for X; do <use><inner>done
    for X in "$@"; do <use><inner>done
    for X in $(<subst>); do <use><inner>done
    case <word> in a) <inner>;; *) <inner>;; esac
    case <word> in (b) <inner>;& secrets*|bad1) <inner>;; esac
    case <word> in *) <inner>;;& [ab]) <inner> esac
    <name>() { <inner>}<nl><call>
    function <name> { <inner>}<nl><call>
    <name>() ( <inner>)<nl><call>
    f() { "$@"; }<nl>f <simple>
    f() { cat "$1"; }<nl>f <path>
    f() { $1; }<nl>f <program>
    f() { eval "$*"; }<nl>f <simple>
    f() { local A=ok1; $A <path>; }<nl>f
    <reader> <<< <word>
    <reader> <<<doc>
    <reader> <<<doc>
    ! <sub>
    time <simple>
    { <inner>} &<nl>wait
    coproc { <inner>}<nl>wait
    select X in a; do <inner>break; done
    (<inner>) 2>&1
    exec 3>docs/n; <inner>
    cat <(<inner>)
    echo a > >(<inner>)
    cat < <(<inner>)
    source <(<inner>)
    bash <(<inner>)
    tee >(<inner>) < docs/a
    mapfile -t X < <(<inner>)
    X=$(<inner>); $X
    X=$(<inner>); cat "$X"
    eval "$(<inner>)"
    set -- $(<inner>); "$@"
    sh -c "$(<inner>)"
""")
TESTS = _lines("""
    [ -f docs/a ]
    [[ <plain> == <plain> ]]
    test -n <word>
    (( 1 + 1 ))
    (( ${#A} > 3 ))
    [ <plain> = a ]
    [[ -v A ]]
    ! true
    (( a[$(<subst>)] ))
""")
SINKS = _lines("""
    cat
    ok2
    xargs ok1
    xargs cat
    xargs -n1 echo
    sh
    bash
    bash -s a
    while read -r X; do ok1 "$X"; done
    { read X; cat "$X"; }
    tee docs/n
    xargs -I{} cat {}
    xargs
    head -n1
    cat - docs/a
    xargs -I % sh -c %
    xargs env ok1
    mapfile -t X
    xargs rm -f
    xargs grep
    sort -o docs/n
    xargs -d '\\n' touch
    grep -f - docs/a
    cat >docs/n
""")
READERS = _lines("""
    cat
    cat >docs/n
    sh
    bash
    ok2
    read X
    while read -r X; do echo $X; done
    xargs ok1
    xargs cat
    tee docs/n
    mapfile X
    bash -s --
    . /dev/stdin
    sh -s a b
""")
STATES = _lines("""
    cd <folder>
    cd <folder> && <simple>
    (cd <folder>; <simple>); <simple>
    cd <folder>; cd -; <simple>
    pushd <folder>
    pushd <folder>; <simple>; popd; <simple>
    popd
    dirs; pushd +1; <simple>
    <var>=<folder>; cd $<var>; <simple>
    mkdir docs/n; cd docs/n; <simple>
    <var>=<value>
    <var>=<value>; $<var> <path>
    <var>=<path>; cat $<var>
    <var>+=<word>
    <var>=(<word> <word>); "${<var>[@]}"
    <var>=$(<subst>)
    export <var>=<value>
    declare <var>=<value>
    readonly <var>=<value>
    local <var>=<value>
    unset <var>
    let <var>=2
    declare -n X=<var>; X=<value>; $<var>
    printf -v <var> %s <word>; $<var>
    printf -v <var> %b <word>; $<var>
    read <var> <<< <word>
    read <var> < <path>
    mapfile -t <var> < <path>; $<var>
    getopts a <var> -a; $<var>
    set -- <word> <word>
    set -- <simple>; "$@"
    set -- <path>; cat "$1"
    shift
    set -f; <simple>
    set +B; <simple>
    set -o posix; <simple>
    set -e; <simple>
    shopt -s nullglob; <simple>
    shopt -s dotglob; <simple>
    shopt -s globstar<nl><simple>
    shopt -s extglob<nl><simple>
    exec 3< <path>
    exec > <path>
    IFS=/; <simple>
    IFS=''; <simple>
    PATH=docs; ok1
    PATH=$PWD/docs:$PATH; ok1
    alias ok1=<value>
    alias ok1=<program>; shopt -s expand_aliases<nl>ok1 a
    hash -p <root>/bin/bad1 ok1; ok1
    enable -n echo
    exit
    return
    ln -s <path> docs/n; cat docs/n
    ln -s ../secrets docs/n; <simple>
    ln -s ../secrets/token docs/n; cat docs/n
    cp <path> docs/n; cat docs/n
    mv <path> docs/n; cat docs/n
""")
HANDED_ON = _lines("""
    X=~/secrets/token; cat $X
    A=(<word> <path>); cat "${A[1]}"
    A=(<path> <path>); cat "${A[@]:1}"
    A=<path>; B=A; cat "${!B}"
    A=<path>; U=A; cat ${!U}
    cat "${A:-<path>}"
    : "${U:=<path>}"; cat "$U"
    A=<path>; cat "${A%/*}/token"
    A=x<path>; cat ${A#x}
    A=<path>; A=${A/docs/secrets}; cat ${A%/*}/token
    cat {<path>,<path>}
    echo <path> | { read X; cat "$X"; }
    echo a <path> | while read a b; do cat $b; done
    echo <path> <path> | xargs -n1 cat
    echo <path> | xargs -I{} sh -c 'cat {}'
    echo <path> | sh -c 'xargs cat'
    X=<path>; f() { cat "$X"; }<nl>X=<path> f
    f() { X=<path>; }<nl>X=docs/a; f; cat $X
    f() { local X=<path>; cat $X; }<nl>X=docs/a; f; cat $X
    X=docs/a; (X=<path>; cat $X); cat $X
    X=docs/a; X=<path> cat $X
    X=docs/a; echo a | X=<path>; cat $X
    eval "X=<path>"; cat $X
    eval X=<path>; cat $X
    export X=<path>; sh -c 'cat "$X"'
    X=<path> sh -c 'cat $X'
    env X=<path> sh -c 'cat $X'
    X=<path>; sh -c "cat $X"
    bash -c 'cat "$0" "$@"' <path> <path>
    set -- a <path>; shift; cat $1
    set -- a <path>; cat "${@: -1}"
    set -- a <path>; cat "${!#}"
    set -- a <path>; for X; do cat "$X"; done
    X=$(echo <path>); cat $X
    X=`echo <path>`; cat "$X"
    cat $(printf '%s\\n' <path> <path>)
    printf '%s\\n' <path> > docs/n; cat $(cat docs/n)
    printf '%s\\n' <path> > docs/n; xargs -a docs/n cat
    printf '%s\\n' <path> > docs/n; read X < docs/n; cat $X
    read -r X <<< <path>; cat "$X"
    IFS=: read -r A B <<< a:<path>; cat "$B"
    mapfile -t X <<< <path>; cat "${X[0]}"
    while read -r X; do cat "$X"; done <<< <path>
    for X in docs src secrets; do [ $X = secrets ] || cat $X/*; done
    for X in docs secrets; do cd $X; cat a token; cd ..; done
    case <path> in secrets*) ;; *) cat <path>;; esac
    [[ <path> == secrets* ]] || cat <path>
    test -f <path> && cat <path>
    cat - < <path>
    cat <path> <path> | tee docs/n
    cat docs/a > >(cat <path>)
    exec 3< <path>; cat <&3
    exec 3<> <path>; cat /dev/fd/3
    cat < <path> > docs/n; cat docs/n
    cp <path> <path>
    mv <path> docs/n && cat docs/n
    ln <path> docs/n; cat docs/n
    ln -s ../<path> docs/n; cat docs/n
    cp -P src/way docs/n; cat docs/n
    cp -a src docs/n; cat docs/n/way
    mv src/way docs/n; cat docs/n
    touch <path> <path>
    rm -r <path>; mkdir <path>
    mkdir -p <path>/n; touch <path>/n/a
    cd <folder> && cat <far>
    cd <folder>; cd <folder>; cat <path>
    cd <folder>; cd <folder>; cat <far>
    cd <folder> || cat <path>
    (cd <folder>); cat <path>
    { cd <folder>; }; cat token
    cd <folder> & cat <path>
    cd <folder> | cat; cat <path>
    f() { cd <folder>; }<nl>f; cat token
    eval cd <folder>; cat token
    sh -c 'cd <folder>'; cat <path>
    if cd <folder>; then cat token; fi
    cd -P <folder>; cat <far>
    pushd <folder> >/dev/null; cat token <far>
    pushd -n <folder>; cat token
    cd docs; pushd ../secrets; popd; cat a
    env -C <folder> cat token
    find <folder> -name token
    OLDPWD=$PWD/secrets; cd -; cat token
    CDPATH=secrets:docs; cd deep; cat more
    HOME=$PWD/secrets; cat ~/token
    HOME=$PWD/secrets; cd; cat token
    PWD=/; cat $PWD/docs/a
    cd secrets/..; cat docs/a
""")
WRAPPERS = _lines("""
    env
    timeout 3
    nohup
    command
    builtin
    env A=ok1
    env -i
    nice -n 5
    exec
    env -u A
    time -p
    timeout -k 1 3
    env -S
    command -p
    stdbuf -oL
    setsid -w
    env -C docs
    command -v
    exec -a x
    env --
    timeout --signal=9 3
    xargs -a docs/x
    xargs -n 1 -a docs/x
    A=ok1
    env PATH=/nowhere
    env env
    chroot .
    flock docs/a
""")
NESTED = _lines("""
    eval <code>
    eval <simple>
    <shell> <code>
    <shell> <code> x <word>
    <shell> <code> <program> <path>
    <shell> '"$@"' x <simple>
    find <place> <chosen>
    find <place> <chosen> -exec <program> {} \\;
    find <place> <chosen> -exec <program> <word> {} ';'
    find <place> <chosen> -exec <program> {} +
    find <place> <chosen> -execdir <program> {} \\;
    find <place> <chosen> -exec <program> docs/{} \\;
    find docs -maxdepth 1 -exec sh -c <code> x {} \\;
    find docs -maxdepth 0 -exec <simple> \\;
    find <place> <chosen> -delete
    find <place> <chosen> -fprint docs/n
    find <place> <chosen> -print0 | xargs -0 cat
    find <place> <chosen> | xargs <program>
    echo <code> > docs/n; sh docs/n
    printf <code> > docs/n; . docs/n
    echo <code> > src/n; bash src/n
    printf %s <code> > docs/run; sh docs/run
    trap <code> EXIT
    trap <code> DEBUG
    trap <code> ERR; false
    trap <code> INT
""")
SHELLS = ("sh -c", "bash -c", "bash --norc -c", "bash -ec", "sh -e -c", "bash -c -e", "bash +x -c")
FOLDERS = split("""
    docs src secrets docs/over . src/sub $PWD/docs ~ s*s - nowhere docs/../secrets .. ../box docs/over/..
""")
NEAR = FOLDERS.index("..")
UP = split(
    "../secrets/token ../docs/a ../src/c ../*/token ../../box/docs/a ../over/c over/../a ../token ./../secrets/t*"
)
CHOSEN = ("-name a", "-type f", "", "-maxdepth 1", "-name 'tok*'", "-not -path './secrets*'")
MARKS = (("'E'", "E"), ("E", "E"), ('"E"', "E"), ("E\\F", "EF"), ("-E", "\tE"))
BODIES = ("<subst>", "$(<subst>)", "x `<simple>`", "<path>")
BETWEEN = ("; ", "\n", "; ", " # bad1 '\n", " & ", ";\\\n ")
