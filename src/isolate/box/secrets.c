/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/box/secrets.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

#define LOGIN     "keys that log in elsewhere"
#define CLOUD     "credentials of a cloud or a cluster"
#define PUBLISH   "tokens that publish packages"
#define PASSWORDS "passwords"
#define BROWSER   "cookies and stored passwords of a browser"
#define MAIL      "mail and its passwords"
#define MODEL     "accounts with model providers"
#define CHAT      "messages and messenger accounts"
#define HISTORY   "shell history may contain passwords"
#define OURS      "keys, settings and the audit log of Gatehouse"
#define AGENT     "sockets of agents that sign and decrypt for the user"
#define SYSTEM    "readable by root even without privileges"
#define SERVICE   "the socket of a service that runs requests as root"

const struct secret_place secrets[] = {
    {".ssh", LOGIN},
    {".gnupg", LOGIN},
    {".putty", LOGIN},
    {".pki", LOGIN},
    {".Xauthority", LOGIN},
    {".ICEauthority", LOGIN},
    {".config/age", LOGIN},
    {".config/sops", LOGIN},
    {".aws", CLOUD},
    {".azure", CLOUD},
    {".kube", CLOUD},
    {".docker", CLOUD},
    {".config/containers", CLOUD},
    {".config/gcloud", CLOUD},
    {".config/doctl", CLOUD},
    {".config/hcloud", CLOUD},
    {".config/rclone", CLOUD},
    {".oci", CLOUD},
    {".fly", CLOUD},
    {".terraform.d/credentials.tfrc.json", CLOUD},
    {".vault-token", CLOUD},
    {".s3cfg", CLOUD},
    {".boto", CLOUD},
    {".terraformrc", CLOUD},
    {".databrickscfg", CLOUD},
    {".config/gh", PUBLISH},
    {".config/glab-cli", PUBLISH},
    {".config/hub", PUBLISH},
    {".npmrc", PUBLISH},
    {".sentryclirc", PUBLISH},
    {".yarnrc.yml", PUBLISH},
    {".pypirc", PUBLISH},
    {".cargo/credentials", PUBLISH},
    {".cargo/credentials.toml", PUBLISH},
    {".gem/credentials", PUBLISH},
    {".m2/settings.xml", PUBLISH},
    {".config/composer/auth.json", PUBLISH},
    {".netrc", PASSWORDS},
    {".pgpass", PASSWORDS},
    {".authinfo", PASSWORDS},
    {".authinfo.gpg", PASSWORDS},
    {".my.cnf", PASSWORDS},
    {".git-credentials", PASSWORDS},
    {".config/git/credentials", PASSWORDS},
    {".password-store", PASSWORDS},
    {".local/share/keyrings", PASSWORDS},
    {".local/share/kwalletd", PASSWORDS},
    {".config/keepassxc", PASSWORDS},
    {".config/Bitwarden", PASSWORDS},
    {".config/1Password", PASSWORDS},
    {".config/op", PASSWORDS},
    {".mozilla", BROWSER},
    {".config/mozilla", BROWSER},
    {".librewolf", BROWSER},
    {".config/google-chrome", BROWSER},
    {".config/chromium", BROWSER},
    {".config/BraveSoftware", BROWSER},
    {".config/microsoft-edge", BROWSER},
    {".config/vivaldi", BROWSER},
    {".config/opera", BROWSER},
    {"snap/firefox", BROWSER},
    {"snap/chromium", BROWSER},
    {".var/app", BROWSER},
    {".thunderbird", MAIL},
    {".config/evolution", MAIL},
    {".local/share/evolution", MAIL},
    {".msmtprc", MAIL},
    {".config/msmtp", MAIL},
    {".mbsyncrc", MAIL},
    {".fetchmailrc", MAIL},
    {".config/Slack", CHAT},
    {".config/discord", CHAT},
    {".config/Element", CHAT},
    {".config/Signal", CHAT},
    {".local/share/TelegramDesktop", CHAT},
    {".claude/.credentials.json", MODEL},
    {".claude.json", MODEL},
    {".codex/auth.json", MODEL},
    {".gemini", MODEL},
    {".cache/huggingface/token", MODEL},
    {".cache/huggingface/stored_tokens", MODEL},
    {".config/github-copilot", MODEL},
    {".config/Code/User/globalStorage", MODEL},
    {".bash_history", HISTORY},
    {".zsh_history", HISTORY},
    {".zhistory", HISTORY},
    {".histfile", HISTORY},
    {".local/share/fish/fish_history", HISTORY},
    {".python_history", HISTORY},
    {".node_repl_history", HISTORY},
    {".psql_history", HISTORY},
    {".mysql_history", HISTORY},
    {".sqlite_history", HISTORY},
    {".rediscli_history", HISTORY},
    {".lesshst", HISTORY},
    {".viminfo", HISTORY},
    {".n8n", OURS},
    {".n8n-gateway", OURS},
    {".config/gatehouse", OURS},
    {".local/state/gatehouse", OURS},
    {".cache/keyring", AGENT},
    {"/etc/shadow", SYSTEM},
    {"/etc/shadow-", SYSTEM},
    {"/etc/gshadow", SYSTEM},
    {"/etc/gshadow-", SYSTEM},
    {"/etc/ssh/ssh_host_rsa_key", SYSTEM},
    {"/etc/ssh/ssh_host_ecdsa_key", SYSTEM},
    {"/etc/ssh/ssh_host_ed25519_key", SYSTEM},
    {"/etc/ssl/private", SYSTEM},
    {"/etc/krb5.keytab", SYSTEM},
    {"/etc/wireguard", SYSTEM},
    {"/etc/NetworkManager/system-connections", SYSTEM},
    {"/var/lib/private", SYSTEM},
    {"/var/lib/docker", SERVICE},
    {"/var/lib/containerd", SERVICE},
    {"/var/lib/lxd", SERVICE},
    {"/var/lib/mysql", SERVICE},
    {"/var/snap", SERVICE},
};

const size_t secrets_count = array_size(secrets);

/* name:password:uid:gid:about:home:shell */
static bool read_line(struct str line, uid_t uid, char out_home[PATH_MAX])
{
    struct str field[6];
    int64_t number;

    for (size_t i = 0; i < array_size(field); i++)
        if (!str_cut(&line, ':', &field[i]))
            return false;
    if (!str_to_int64(field[2], &number) || number != (int64_t)uid || field[5].len == 0 ||
        field[5].ptr[0] != '/' || field[5].len >= PATH_MAX || str_has_nul(field[5]))
        return false;
    memcpy(out_home, field[5].ptr, field[5].len);
    out_home[field[5].len] = '\0';
    return out_home[1] != '\0';
}

/* Without a stream, which costs as much again, and each sandbox asks. */
bool secrets_find_home(uid_t uid, char out_home[PATH_MAX])
{
    cleanup_fd int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
    __attribute__((uninitialized)) char text[PATH_MAX + 1024];
    size_t kept = 0;
    ssize_t got;

    while (fd >= 0 && (got = read(fd, text + kept, sizeof(text) - kept)) > 0) {
        struct str rest = {text, kept + (size_t)got};
        struct str line;

        while (str_cut(&rest, '\n', &line) && rest.ptr != NULL)
            if (read_line(line, uid, out_home))
                return true;
        /* The beginning of a line, unless it is too long for one. */
        kept = line.len < sizeof(text) ? line.len : 0;
        memmove(text, line.ptr, kept);
    }
    return read_line((struct str){text, kept}, uid, out_home);
}
