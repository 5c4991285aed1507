/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "draw.h"
#include "permission/commandline/commandline.h"

enum { ARENA_BYTES = 1 << 20 };

static const char *const path_dirs[] = {"/usr/bin", "/bin/", "relative", "", NULL};

/* What a command is called; NULL stands for itself, as is. */
struct example {
    const char *command;
    const char *resource;
};

static const struct example plain[] = {
    {"ls", "ls"},
    {"  ls -la\n", "ls -la"},
    {"\t\n make", "make"},
    {"git   status\t-s", "git status -s"},
    {"git commit -m 'a  b'", "git commit -m 'a  b'"},
    {"git commit -m \"a  b\"  -s", "git commit -m \"a  b\" -s"},
    {"grep 'a\tb' \"it's\"  x", "grep 'a\tb' \"it's\" x"},
    {"touch a\\ \\ b  c", "touch a\\ \\ b c"},
    {"echo \"a\\\"  b\"", "echo \"a\\\"  b\""},
    {"echo $HOME  ${USER} \"$PWD\"", "echo $HOME ${USER} \"$PWD\""},
    {"echo '$(x'\\''", NULL}, /* an operator in quotes is one, too, and this one does not end */
    {"ls *.c  {a,b} ~", "ls *.c {a,b} ~"},
    {"cat x  > y", "cat x > y"},
    {"sudo cat x >y", "cat x >y"},
    {"sort <in", "sort <in"},
    {"echo 100% a#b", "echo 100% a#b"},
    {"echo a\\\\ ", "echo a\\\\"},
    {"echo \\ ", "echo \\ "},
    {"g++ a.cc", "g++ a.cc"},
    {"x86_64-linux-gnu-gcc-12 a.c", "x86_64-linux-gnu-gcc-12 a.c"},
    {"python3.12 -c 'print(1)'", "python3.12 -c 'print(1)'"},
    {"true", "true"},
};

static const struct example directories[] = {
    {"/usr/bin/ls -l", "ls -l"},
    {"/bin/ls -l", "ls -l"}, /* a slash at the end of PATH's directory */
    {"/usr/bin/env make", "make"},
    {"/usr/bin/sudo -n /bin/make", "make"},
    {"/opt/tool/ls -l", "/opt/tool/ls -l"},
    {"/tmp/sudo make", "/tmp/sudo make"},
    {"sudo /opt/tool/x", "/opt/tool/x"},
    {"/usr/bin/sub/ls", "/usr/bin/sub/ls"},
    {"/usr/bin//ls", "/usr/bin//ls"},
    {"/usr/bin/../lib/ls", "/usr/bin/../lib/ls"},
    {"/usr/binls", "/usr/binls"},
    {"/ls", "/ls"},
    {"/usr/bin/", NULL},
    {"/usr/bin/.", NULL},
    {"/usr/bin/-x", NULL},
    {"/usr/bin/eval x", NULL},
    {"/usr/bin/A=1 ls", NULL},
    {"relative/ls", NULL},
    {"./ls", NULL},
    {"../ls", NULL},
    {"./ls   a", NULL},
    {"src/run.sh", NULL},
    {"sudo ./install", NULL},
    {"sudo bin/install", NULL},
    {"~/bin/x", NULL},
    {"~root/x", NULL},
};

static const struct example wrapped[] = {
    {"sudo apt install foo", "apt install foo"},
    {"nice -n 10 make -j4", "make -j4"},
    {"nice make", "make"},
    {"nice -n10 make", "make"},
    {"nice -10 make", "make"},
    {"nice -n -5 make", "make"},
    {"nice --adjustment=5 make", "make"},
    {"nice --adjustment 5 make", "make"},
    {"nice -- make", "make"},
    {"nohup make", "make"},
    {"nohup -- make", "make"},
    {"time make", "make"},
    {"time -p make", "make"},
    {"time -f %e make", "make"},
    {"sudo -u x nice -n 5 make", "make"},
    {"sudo sudo sudo make", "make"},
    {"sudo --user=www-data make", "make"},
    {"sudo --user www-data make", "make"},
    {"sudo -uwww-data make", "make"},
    {"sudo -nEHu www-data make", "make"},
    {"sudo -C 3 -g adm -p pw -r role -t type -T 5 make", "make"},
    {"sudo --preserve-env make", "make"},
    {"sudo --preserve-env=FOO -A make", "make"},
    {"sudo -n -- make -j", "make -j"},
    {"sudo LANG=C ninja", "ninja"},
    {"doas -n -u x make", "make"},
    {"env make", "make"},
    {"env NO_COLOR=1 TERM=xterm-256color ninja", "ninja"},
    {"env -u LANG make", "make"},
    {"env -vuLANG make", "make"},
    {"env --unset=LC_ALL --unset TZ make", "make"},
    {"env -v -- make", "make"},
    {"env --block-signal=INT make", "make"},
    {"xargs rm", "rm"},
    {"xargs -0 -n 1 -P 4 rm -f", "rm -f"},
    {"xargs -0n1 -I{} mv {} x", "mv {} x"},
    {"xargs -i{} mv {} x", "mv {} x"},
    {"xargs -l -r rm", "rm"},
    {"xargs --max-args=3 --replace --null rm", "rm"},
    {"nohup  env   LANG=C\tnice -n 5 /usr/bin/ninja  all", "ninja all"},
};

static const struct example assigned[] = {
    {"LANG=C ninja", "ninja"},
    {"LANG= ninja", "ninja"},
    {"LANG=de_DE.UTF-8@euro LANGUAGE=de:en LC_ALL=C LC_TIME=C npm test", "npm test"},
    {"TZ=UTC ninja", "ninja"},
    {"TZ=America/Argentina/Ushuaia ninja", "ninja"},
    {"TERM=dumb COLORTERM=truecolor NO_COLOR=1 FORCE_COLOR=1 CLICOLOR=0 ninja", "ninja"},
    {"CLICOLOR_FORCE=1 COLUMNS=80 LINES=24 ninja", "ninja"},
    {"LANG=C sudo ninja", "ninja"},
};

/* These are called by all of their text. */
static const char *const as_is[] = {
    /* nothing to run */
    "",
    "FOO=1",
    "sudo",
    "sudo -u x",
    "sudo -u",
    "env",
    "env FOO=1",
    "nice -n 10",
    "xargs -0",
    "sudo --",
    "nohup nohup",
    /* chained, substituted, on several lines */
    "ls | wc",
    "ls; rm x",
    "ls & rm x",
    "ls && rm x",
    "echo $(rm x)",
    "echo `rm x`",
    "diff <(ls) x",
    "tee >(sh)",
    "ls\nrm x",
    "ls\rrm x",
    "ls x\r",
    "echo 'a | b'",
    "sudo ls  ;  ls",
    "ls\\\nx",
    "nice -n 10  make  2>&1",
    /* what the shell makes of the first word */
    "$SHELL x",
    "${X} x",
    "\"ls\" x",
    "'ls' x",
    "l\\s x",
    "l's' x",
    "\\ls x",
    "l* x",
    "l[s] x",
    "l? x",
    "{ls,-l} x",
    "{ ls x",
    "( ls x )",
    "ls() x",
    "ls () x",
    "! ls",
    "[ -f x ]",
    "=ls x",
    "%1",
    "-x y",
    "+x y",
    "\xc3\xa9 x",
    "> x ls",
    "2>x ls",
    "ls>x",
    /* words of the shell */
    "eval rm x",
    "exec rm x",
    "command rm x",
    "builtin cd x",
    "source x",
    ". x",
    "if true",
    "for x in y",
    "while true",
    "until true",
    "case x in",
    "function f",
    "select x",
    "coproc rm x",
    "trap x EXIT",
    "alias ls=rm",
    "sudo eval x",
    "time if x",
    "export PATH=/x",
    "set -e",
    /* what shells read in several ways */
    "echo 'a",
    "echo \"a",
    "echo a\\",
    "echo $'a\\'  b'",
    "echo $\"a\"",
    "echo ${X:-\"a  b\"}",
    "echo \"${X:-\"a  b\"}\"",
    "echo ${X@P}",
    "echo $[1+1]",
    "ls # a  b",
    "sudo # make",
    "echo @(a)",
    /* options that change what is done, and those that nobody knows */
    "sudo -s make",
    "sudo -i make",
    "sudo -e x",
    "sudo -l make",
    "sudo -ns make",
    "sudo --shell make",
    "sudo -D / make",
    "sudo -R / make",
    "sudo -h host make",
    "sudo --chdir=/ make",
    "sudo --use x make",
    "sudo -Z make",
    "sudo --user",
    "doas -s make",
    "doas -C x make",
    "env -S 'make x'",
    "env -Smake",
    "env --split-string=make",
    "env -iS make",
    "env -C / make",
    "env --chdir=/ make",
    "env -0 make",
    "env -a x make",
    "time -o x make",
    "time --output=x make",
    "time -ao x make",
    "nice -x make",
    "nice --5 make",
    "nohup -x make",
    "xargs -a x rm",
    "xargs --arg-file=x rm",
    "xargs --process-slot-var=LD_PRELOAD rm",
    "xargs rm < list",
    "xargs -0 rm <list",
    "nice -n",
    "sudo xargs rm <list",
    "nohup --help",
    /* words of wrappers that are not plain */
    "sudo $X make",
    "sudo -u $USER make",
    "sudo -u 'x' make",
    "nice -n \"$N\" make",
    "sudo -u* make",
    "env FOO=$X make",
    "env FOO=\"$X\" make",
    "env FOO={a,b} make",
    "env \"FOO=1\" make",
    "env 'FOO'=1 make",
    "su\"do\" make",
    "sudo -u x < y make",
    "FOO=1>x make",
    /* a program to those, not an assignment */
    "nice FOO=1 make",
    "nohup FOO=1 make",
    "time FOO=1 make",
    "doas FOO=1 make",
    "xargs FOO=1 make",
    "sudo -- FOO=1 make",
    "env FOO=1 -u X make",
    "env - -u X make",
    "sudo FOO=1 -u x make",
    "FOO+=1 make",
    "FOO[0]=1 make",
    "FOO=(a b) make",
    "1FOO=1 make",
    "a-b=1 make",
    "env a-b=1 make",
    "\"FOO\"=1 make",
    /* variables that nobody knows to be harmless */
    "NINJA=x meson compile",
    "_PYTHON_SYSCONFIGDATA_NAME=x python3 -m sysconfig",
    "FOO=1 ninja",
    "CI=1 npm test",
    "DEBUG=1 npm test",
    "lang=C ninja",
    "lc_all=C ninja",
    "LANGX=C ninja",
    "LC=C ninja",
    "TERMINFO=x ls",
    "LANG=C FOO=1 ninja",
    "env FOO=1 ninja",
    "env LANG=C FOO=1 ninja",
    "sudo FOO=1 ninja",
    "export FOO=1",
    "env -u FOO make",
    "env -uFOO make",
    "env --unset=FOO make",
    "env -i make",
    "env - make",
    "env --ignore-environment make",
    /* harmless ones with values that are not plain, or lead to a file */
    "LANG=$X ninja",
    "LANG=\"C\" ninja",
    "LANG=* ninja",
    "LANG=~ ninja",
    "LANGUAGE=../x ninja",
    "LANGUAGE=/x ninja",
    "LC_ALL=/x ninja",
    "TERM=../x ninja",
    "TZ=/x ninja",
    "TZ=:/x ninja",
    "TZ=../x ninja",
    "TZ=a/../x ninja",
    /* variables that choose what runs, or for whom */
    "PATH=/x make",
    "LD_PRELOAD=x make",
    "LD_LIBRARY_PATH=x make",
    "PYTHONPATH=x make",
    "NODE_OPTIONS=x npm test",
    "BASH_ENV=x make",
    "ENV=x make",
    "IFS=x make",
    "PERL5LIB=x make",
    "RUBYLIB=x make",
    "RUBYOPT=x make",
    "GIT_SSH_COMMAND=x git pull",
    "GIT_PAGER=x git log",
    "GIT_EXTERNAL_DIFF=x git diff",
    "EDITOR=x git commit",
    "VISUAL=x git commit",
    "PAGER=x git log",
    "MANPAGER=x man x",
    "LESSOPEN=x less x",
    "BROWSER=x xdg-open x",
    "HOME=/x git log",
    "XDG_CONFIG_HOME=/x git log",
    "CC=x make",
    "MAKEFLAGS=x make",
    "SHELL=x make",
    "npm_config_script_shell=x npm test",
    "JAVA_TOOL_OPTIONS=x java y",
    "RUSTC_WRAPPER=x cargo b",
    "DOCKER_HOST=x docker ps",
    "KUBECONFIG=x kubectl get pods",
    "https_proxy=x curl y",
    "GCONV_PATH=x iconv",
    "DESTDIR=/ make install",
    "TMPDIR=/x make",
    "PS4=x make",
    "SUDO_ASKPASS=x sudo -A make",
    "FOO=1 PATH=/x make",
    "env LD_PRELOAD=x make",
    "sudo PATH=/x make",
    "sudo LD_PRELOAD=x make",
    "env -u PATH make",
    "env -uLD_PRELOAD make",
    "env --unset=HOME make",
    "nice env -i PATH=/x make",
    "classpath=x java y",
    "ZIP=x zip a b",
    "XZ_DEFAULTS=x tar cf a b",
    "VIM=x vim a",
    "shell_escape=t tex a",
    "GLIBC_TUNABLES=x su",
    "ccache_prefix_cpp=x ccache gcc a.c",
    "VK_ADD_LAYER=x vkcube",
    "CORECLR_PROFILER=x dotnet run",
    "PYENV_VERSION=x pyenv exec a",
    "ODBCINSTINI=x isql",
    "R_PROFILE_USER=x Rscript a.R",
    "FLASK_APP=x flask run",
    "ELECTRON_RUN_AS_NODE=1 code",
    "GOFLAGS=-toolexec=x go vet",
    "GOCACHEPROG=x go build",
    "GOAUTH=x go get",
    "DEBUGINFOD_URLS=x gdb a",
    "WGETRC=x wget y",
    "CVS_SSH=x cvs update",
    "OPENSSL_CNF=x openssl version",
    "P4DIFF=x p4 diff",
    "P4MERGE=x p4 resolve",
    "CTEST_ARGS=x ctest",
    "PHP_INI=x php a",
    "FOO_COMPILER=x ninja",
    "HOSTCC=x ninja",
    /* a makefile may use any variable */
    "LANG=C make",
    "env TZ=UTC gmake",
    "FOO=1 make",
    "FOO=1 gmake",
    "FOO=1 bmake",
    "FOO=1 /usr/bin/make",
    "FOO=1 /opt/tool/make",
    "env FOO=1 make",
    "sudo FOO=1 nice make",
    "FOO=1 nohup make",
};

static struct str normalise(struct arena *arena, struct str command, bool *out_is_as_is)
{
    struct str resource;

    assert_int_equal(command_normalise(arena, command, path_dirs, false, &resource, out_is_as_is),
                     0);
    return resource;
}

static void check(const char *command, const char *resource)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    bool is_as_is;
    struct str named = normalise(&arena, str_from(command), &is_as_is);
    bool is_still_as_is;

    if (!str_eq_c(named, resource != NULL ? resource : command))
        fail_msg("%s: called %.*s", command, STR_ARG(named));
    if (is_as_is != (resource == NULL))
        fail_msg("%s: %s", command, is_as_is ? "taken as is" : "not taken as is");
    if (!str_eq(normalise(&arena, named, &is_still_as_is), named) || is_still_as_is != is_as_is)
        fail_msg("%s: another name the second time", command);
}

static void check_all(const struct example *examples, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check(examples[i].command, examples[i].resource);
}

static void a_plain_command_keeps_its_words(void **state)
{
    (void)state;
    check_all(plain, array_size(plain));
}

static void a_program_loses_a_directory_of_path_and_no_other(void **state)
{
    (void)state;
    check_all(directories, array_size(directories));
}

static void wrappers_go_with_their_options(void **state)
{
    (void)state;
    check_all(wrapped, array_size(wrapped));
}

static void assignments_go(void **state)
{
    (void)state;
    check_all(assigned, array_size(assigned));
}

static void what_is_not_plain_is_called_by_all_of_its_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_size(as_is); i++)
        check(as_is[i], NULL);
}

static void as_is_means_without_blanks_at_the_ends(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    bool is_as_is;

    (void)state;
    assert_str(normalise(&arena, STR(" \t\nls  |  wc \n\n"), &is_as_is), "ls  |  wc");
    assert_true(is_as_is);
    /* A blank behind a backslash is a part of the word, and so is a CR. */
    assert_str(normalise(&arena, STR("./a \\ "), &is_as_is), "./a \\ ");
    assert_str(normalise(&arena, STR("rm a\r"), &is_as_is), "rm a\r");
    assert_true(is_as_is);
    assert_str(normalise(&arena, STR("ls\0rm"), &is_as_is), "ls\0rm");
    assert_true(is_as_is);
}

/* Or consent to `cat` would be consent to reading any file: its name is typed later. */
static void what_is_given_input_keeps_what_makes_words_of_it(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct str resource;
    bool is_as_is;

    (void)state;
    assert_int_equal(command_normalise(&arena, STR(" sudo xargs  -n1 cat "), path_dirs, true,
                                       &resource, &is_as_is),
                     0);
    assert_str(resource, "sudo xargs  -n1 cat");
    assert_true(is_as_is);
    assert_int_equal(
        command_normalise(&arena, STR("sudo  cat x"), path_dirs, true, &resource, &is_as_is), 0);
    assert_str(resource, "cat x");
    assert_false(is_as_is);
}

static void without_path_every_directory_stays(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct str resource;
    bool is_as_is;

    (void)state;
    assert_int_equal(
        command_normalise(&arena, STR("/usr/bin/ls x"), NULL, false, &resource, &is_as_is), 0);
    assert_str(resource, "/usr/bin/ls x");
    assert_false(is_as_is);
}

static void what_no_shell_can_be_given_is_refused(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    cleanup_arena struct arena small = ARENA_INIT(64);
    char *text = test_malloc(COMMAND_MAX_BYTES);
    struct str resource = STR("untouched");
    bool is_as_is;

    (void)state;
    memset(text, 'a', COMMAND_MAX_BYTES);
    assert_int_equal(command_normalise(&arena, (struct str){text, COMMAND_MAX_BYTES}, path_dirs,
                                       false, &resource, &is_as_is),
                     ERR_TOO_LARGE);
    assert_int_equal(
        command_normalise(&small, (struct str){text, 4096}, path_dirs, false, &resource, &is_as_is),
        ERR_TOO_LARGE);
    assert_str(resource, "untouched");
    assert_int_equal(command_normalise(&arena, (struct str){text, COMMAND_MAX_BYTES - 1}, path_dirs,
                                       false, &resource, &is_as_is),
                     0);
    assert_int_equal(resource.len, COMMAND_MAX_BYTES - 1);
    test_free(text);
}

/* ---- drawn ---- */

static const char *const harmless[] = {
    "sudo ",
    "sudo -u me ",
    "sudo -nE ",
    "doas -u me ",
    "nice ",
    "nice -n 10 ",
    "nohup ",
    "time -p ",
    "env ",
    "env LANG=C ",
    "env -u TZ NO_COLOR=1 ",
    "xargs -0 -n 1 ",
    "/usr/bin/env ",
    "sudo  --  ",
    "nice\t-5\t",
};
static const char *const grave[] = {
    "PATH=/x ",     "env LD_PRELOAD=x ", "sudo -s ",   "env -S ",    "time -o x ", "env -C / ",
    "sudo -D / ",   "xargs -a x ",       "sudo $X ",   "eval ",      "ls; ",       "$(x) ",
    "nice FOO=1 ",  "sudo -u 'x' ",      "command ",   "> x ",       "\"sudo\" ",  "./sudo ",
    "HOME=/tmp/x ", "env -u PATH ",      "sudo -Z ",   "# ",         "{ ",         "GIT_DIR=x ",
    "FOO=1 ",       "env -i ",           "env FOO=1 ", "LANG=../x ",
};
static const char *const programs[] = {
    "ninja -j4", "git commit -m 'a  b'", "rm -rf \"$HOME\"", "/opt/x/tool a\\ b", "ls *.c",
    "echo {}",
};

/* Harmless words before a program do not change its name; one grave word keeps all of them. */
static void what_is_left_out_is_harmless(void **state)
{
    (void)state;
    draw_seed = 20260701;
    for (int round = 0; round < 20000; round++) {
        cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
        const char *program = programs[draw(array_size(programs))];
        bool has_grave = draw(2) == 0;
        char text[512];
        size_t len = draw_text(text, 4, harmless, array_size(harmless)).len;
        struct str named;
        bool is_as_is;

        if (has_grave) {
            len += (size_t)snprintf(text + len, sizeof(text) - len, "%s",
                                    grave[draw(array_size(grave))]);
            if (draw(2) == 0)
                len += draw_text(text + len, 3, harmless, array_size(harmless)).len;
        }
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s", program);
        named = normalise(&arena, (struct str){text, len}, &is_as_is);
        if (is_as_is != has_grave ||
            !str_eq(named, has_grave ? (struct str){text, len} : str_from(program)))
            fail_msg("%.*s: called %.*s", (int)len, text, STR_ARG(named));
    }
}

TEST_MAIN(cmocka_unit_test(a_plain_command_keeps_its_words),
          cmocka_unit_test(a_program_loses_a_directory_of_path_and_no_other),
          cmocka_unit_test(wrappers_go_with_their_options), cmocka_unit_test(assignments_go),
          cmocka_unit_test(what_is_not_plain_is_called_by_all_of_its_text),
          cmocka_unit_test(as_is_means_without_blanks_at_the_ends),
          cmocka_unit_test(what_is_given_input_keeps_what_makes_words_of_it),
          cmocka_unit_test(without_path_every_directory_stays),
          cmocka_unit_test(what_no_shell_can_be_given_is_refused),
          cmocka_unit_test(what_is_left_out_is_harmless))
