#!/bin/sh
# Unpacks an archive into the folder that becomes the layer of an image, in a sandbox of its own, as
# root of that: its SHA-256, where it is, and the folder. It is a tar of a system's files, or an
# image as `docker save` writes it or in the layout of OCI, whose layers are put over each other.
#
# Modes lose set-user-ID bits, which no sandbox can set. Names of entries go to the second `head`,
# which ends tar if there are too many. Whatever a name leads to is in this sandbox, and only the
# folder is kept of that.
at=$2
to=$3
most_bytes=17179869184 # 16 GiB
most_entries=1000000
most_layers=127

refuse() {
    echo "$1" >&2
    exit 1
}

# Writes a file as it was before it was compressed.
decode() {
    case $(head -c 6 "$1" | od -An -tx1 | tr -d ' \n') in
    1f8b*) gzip -dc <"$1" ;;
    425a68*) bzip2 -dc <"$1" ;;
    28b52ffd*) zstd -dc <"$1" ;;
    fd377a585a00) xz -dc <"$1" ;;
    *) cat <"$1" ;;
    esac
}

unpack() {
    {
        decode "$1" || : >"$at.bad"
    } | head -c $most_bytes | {
        tar -xvf - -C "$to" --numeric-owner --no-same-permissions --exclude='.wh.*' --anchored \
            --exclude='dev/*' --exclude='./dev/*' || : >"$at.bad"
    } | head -n $most_entries >/dev/null
    [ ! -e "$at.bad" ] ||
        refuse 'the archive is no tar of a system, or has more than 16 GiB or a million entries'
}

# What a layer removes of those below it: dir/.wh.name is the end of dir/name, dir/.wh..wh..opq that
# of all in dir.
white_out() {
    decode "$1" | tar -tf - --quoting-style=escape | grep '\(^\|/\)\.wh\.' |
        while IFS= read -r name; do
            case /$name/ in */../* | *\\*) refuse 'a layer removes a file of a strange name' ;; esac
            base=${name##*/}
            folder=$to/$name
            folder=${folder%/*}
            case $base in
            .wh..wh..opq)
                [ ! -d "$folder" ] || find "$folder" -mindepth 1 -maxdepth 1 -exec rm -rf {} +
                ;;
            .wh.?*) rm -rf "${folder:?}/${base#.wh.}" ;;
            esac
        done || exit 1
}

# The digests in a document of OCI, as names of files.
blobs() {
    grep -o '"digest":"sha256:[0-9a-f]\{64\}"' | sed 's|.*sha256:\(.*\)"|blobs/sha256/\1|'
}

# The layers of the image in a folder, the lowest first. Nothing for more than one image.
layers() {
    if [ -f "$1/manifest.json" ]; then
        tr -d ' \t\r\n' <"$1/manifest.json" |
            sed -n '/"Layers":.*"Layers":/d; s/.*"Layers":\[\([^]]*\)\].*/\1/p' | tr -d '"' | tr , ' '
        return
    fi
    manifest=$(tr -d ' \t\r\n' <"$1/index.json" | blobs)
    [ -f "$1/$manifest" ] || return
    tr -d ' \t\r\n' <"$1/$manifest" | sed '/"manifests":/d; s/"config":{[^}]*}//' | blobs
}

put_together() {
    count=0
    for layer in $(layers "$1"); do
        count=$((count + 1))
        case $layer in /* | *..* | *[!A-Za-z0-9._/-]*) refuse 'a layer has a strange name' ;; esac
        [ $count -le $most_layers ] || refuse "the image has more than $most_layers layers"
        [ -f "$1/$layer" ] || refuse "the archive has no layer $layer"
        white_out "$1/$layer"
        unpack "$1/$layer"
        [ "$(du -s --block-size=1 "$to" | cut -f 1)" -le $most_bytes ] ||
            refuse 'the image has more than 16 GiB'
    done
    [ $count -gt 0 ] || refuse 'the archive has not exactly one image'
}

has_shell() {
    [ -e "$to/bin/sh" ] || [ -L "$to/bin/sh" ]
}

set -f # no word here is a pattern
echo "$1  $at" | sha256sum -c --status - || refuse 'the archive does not have this SHA-256'
umask 0
mkdir -m 755 "$to" || exit 1
unpack "$at"
if ! has_shell && { [ -f "$to/manifest.json" ] || [ -f "$to/index.json" ]; }; then
    { rm -f "$at" && mv "$to" "$at.image" && mkdir -m 755 "$to"; } || exit 1
    put_together "$at.image"
fi
chmod 755 "$to" # else the folder that was packed decides, which may be anybody's temporary one
has_shell || refuse 'the archive has no system: there is no /bin/sh'

# The sandbox's own /dev and /proc are mounted on those of the image, and its user needs a home.
cd "$to" || exit 1
umask 022
for name in dev etc home proc; do
    { [ -d $name ] && [ ! -L $name ]; } || { rm -rf $name && mkdir $name; } || exit 1
done
for name in home/user root run sys tmp var var/tmp workspace; do
    [ -e $name ] || [ -L $name ] || mkdir $name || exit 1
done
for name in etc/group etc/passwd etc/resolv.conf; do
    { [ -f $name ] && [ ! -L $name ]; } || { rm -rf $name && : >$name; } || exit 1
done
grep -q '^[^:]*:[^:]*:1000:' etc/passwd ||
    echo 'user:x:1000:1000:user:/home/user:/bin/sh' >>etc/passwd
grep -q '^[^:]*:[^:]*:1000:' etc/group || echo 'user:x:1000:' >>etc/group
chmod 1777 tmp var/tmp && chown -h 1000:1000 home/user workspace
