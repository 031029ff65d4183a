/*
 * Completion scripts (see the header). They are static: no daemon is asked while somebody types.
 * Summaries hold no quote that a shell would read; a test has each shell read its script.
 */
#include "ctl/complete.h"

#include <string.h>

#include "ctl/words.h"

/* Options whose value is a file, as a case of a shell. */
#define VALUE_FILES "--socket|--kubeconfig|--to-kubeconfig|--offline|--pair|--out"

static bool stands_earlier(const struct command *command, const struct words_word *word)
{
	struct words_scan scan = words_begin(command);
	struct words_word earlier;

	while (words_next(&scan, &earlier) && earlier.text.p != word->text.p)
		if (earlier.kind == word->kind && str_equal(earlier.text, word->text))
			return true;
	return false;
}

/* Each word of a kind, once, between blanks. */
static void put_words(struct buf *out, const struct command *command, enum words_kind kind)
{
	struct words_scan scan = words_begin(command);
	struct words_word word;

	while (words_next(&scan, &word)) {
		if (word.kind != kind || stands_earlier(command, &word))
			continue;
		buf_puts(out, " ");
		buf_append(out, word.text.p, word.text.n);
	}
}

/* Options whose value is the word behind them, as alternatives of a case. */
static void put_value_options(struct buf *out)
{
	const struct command *command;
	struct words_word word;

	buf_puts(out, "--socket");
	for (size_t i = 0; (command = command_at(i)); i++) {
		struct words_scan scan = words_begin(command);

		while (words_next(&scan, &word))
			if (word.kind == WORDS_OPTION && word.value.n) {
				buf_puts(out, "|");
				buf_append(out, word.text.p, word.text.n);
			}
	}
}

static void put_names(struct buf *out)
{
	const struct command *command;

	for (size_t i = 0; (command = command_at(i)); i++)
		buf_printf(out, " %s", command->name);
}

static bool names_a_file(const struct command *command)
{
	struct words_scan scan = words_begin(command);
	struct words_word word;

	while (words_next(&scan, &word))
		if (word.kind == WORDS_ARGUMENT && str_equal(word.text, STR_LIT("FILE")))
			return true;
	return false;
}

/* One case for each command: its verbs until one stands there, then its options. What a shell calls
 * "no verb yet", "offer these" and "files, too" is given. */
static void put_cases(struct buf *out, const char *indent, const char *no_verb, const char *offer,
    const char *end, const char *files)
{
	const struct command *command;

	for (size_t i = 0; (command = command_at(i)); i++) {
		if (strcmp(command->name, "help") == 0)
			continue;
		buf_printf(out, "%s%s) ", indent, command->name);
		if (words_has_verbs(command)) {
			buf_printf(out, "if %s; then %s", no_verb, offer);
			put_words(out, command, WORDS_VERB);
			buf_printf(out, "%s; else ", end);
		}
		buf_puts(out, offer);
		put_words(out, command, WORDS_OPTION);
		buf_printf(out, "%s%s%s ;;\n", end, words_has_verbs(command) ? "; fi" : "",
		    names_a_file(command) ? files : "");
	}
}

static void put_bash(struct buf *out)
{
	buf_puts(out,
	    "# bash completion for understudyctl, made by `understudyctl completion bash`\n"
	    "_understudyctl()\n{\n"
	    "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
	    "\tlocal command='' verb='' words='' files='' i\n"
	    "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	    "\t\tcase ${COMP_WORDS[i]} in\n\t\t");
	put_value_options(out);
	buf_puts(out, ") ((i++)) ;;\n\t\t-*) ;;\n"
		      "\t\t*) if [ -z \"$command\" ]; then command=${COMP_WORDS[i]}; else "
		      "verb=${COMP_WORDS[i]}; fi ;;\n"
		      "\t\tesac\n\tdone\n"
		      "\tcase $before in\n"
		      "\t-o) words='text json' ;;\n"
		      "\t" VALUE_FILES ")\n"
		      "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$word\"); return ;;\n\t");
	put_value_options(out); /* a name, a duration: who types knows it */
	buf_puts(out, ") ;;\n"
		      "\t*)\n\t\tcase $command in\n\t\t'') words='--socket --version --help");
	put_names(out);
	buf_puts(out, "' ;;\n\t\thelp) words='");
	put_names(out);
	buf_puts(out, "' ;;\n");
	put_cases(out, "\t\t", "[ -z \"$verb\" ]", "words='", "'", "; files=yes");
	buf_puts(out, "\t\tesac ;;\n\tesac\n"
		      "\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\"\n"
		      "\t\t[ -z \"$files\" ] || compgen -f -- \"$word\")\n}\n"
		      "complete -F _understudyctl understudyctl\n");
}

static void put_zsh(struct buf *out)
{
	const struct command *command;

	buf_puts(out, "#compdef understudyctl\n"
		      "# Made by `understudyctl completion zsh`.\n"
		      "_understudyctl() {\n"
		      "\tlocal command verb i\n\tlocal -a commands\n\tcommands=(\n");
	for (size_t i = 0; (command = command_at(i)); i++)
		buf_printf(out, "\t\t\"%s:%s\"\n", command->name, command->summary);
	buf_puts(out, "\t)\n\tfor ((i = 2; i < CURRENT; i++)); do\n\t\tcase $words[i] in\n\t\t");
	put_value_options(out);
	buf_puts(out,
	    ") ((i++)) ;;\n\t\t-*) ;;\n"
	    "\t\t*) if [[ -z $command ]]; then command=$words[i]; else verb=$words[i]; fi ;;\n"
	    "\t\tesac\n\tdone\n"
	    "\tcase $words[CURRENT-1] in\n"
	    "\t-o) compadd text json; return ;;\n"
	    "\t" VALUE_FILES ") _files; return ;;\n\t");
	put_value_options(out);
	buf_puts(out, ") return ;;\n\tesac\n"
		      "\tcase $command in\n"
		      "\t'') compadd -- --socket --version --help; _describe command commands ;;\n"
		      "\thelp) _describe command commands ;;\n");
	put_cases(out, "\t", "[[ -z $verb ]]", "compadd --", "", "; _files");
	buf_puts(out, "\tesac\n}\n_understudyctl \"$@\"\n");
}

/* Whether it is one of VALUE_FILES, whole. */
static bool takes_a_file(struct str option)
{
	for (const char *at = VALUE_FILES; *at; at += at[0] == '|') {
		size_t n = strcspn(at, "|");

		if (str_equal(option, (struct str){ at, n }))
			return true;
		at += n;
	}
	return false;
}

static void put_fish_option(
    struct buf *out, const struct command *command, const struct words_word *word)
{
	bool is_long = word->text.n > 2 && word->text.p[1] == '-';
	size_t skip = is_long ? 2 : 1;

	buf_printf(out, "complete -c understudyctl -n '__fish_seen_subcommand_from %s' -%c %.*s",
	    command->name, is_long ? 'l' : 's', (int)(word->text.n - skip), word->text.p + skip);
	if (str_equal(word->text, STR_LIT("-o")))
		buf_puts(out, " -x -a 'text json'");
	else if (word->value.n)
		buf_puts(out, takes_a_file(word->text) ? " -r -F" : " -x");
	buf_puts(out, "\n");
}

static void put_fish(struct buf *out)
{
	const struct command *command;
	struct words_word word;

	buf_puts(out, "# Made by `understudyctl completion fish`.\n"
		      "complete -c understudyctl -f\n"
		      "complete -c understudyctl -n __fish_use_subcommand -l socket -r -F\n"
		      "complete -c understudyctl -n __fish_use_subcommand -l version\n"
		      "complete -c understudyctl -n __fish_use_subcommand -l help -s h\n"
		      "complete -c understudyctl -n '__fish_seen_subcommand_from help' -a '");
	put_names(out);
	buf_puts(out, "'\n");
	for (size_t i = 0; (command = command_at(i)); i++) {
		struct words_scan scan = words_begin(command);

		buf_printf(out,
		    "complete -c understudyctl -n __fish_use_subcommand -a %s -d \"%s\"\n",
		    command->name, command->summary);
		if (words_has_verbs(command)) {
			buf_printf(out,
			    "complete -c understudyctl -n '__fish_seen_subcommand_from %s' -a '",
			    command->name);
			put_words(out, command, WORDS_VERB);
			buf_puts(out, "'\n");
		}
		if (names_a_file(command))
			buf_printf(out,
			    "complete -c understudyctl -n '__fish_seen_subcommand_from %s' -F\n",
			    command->name);
		while (words_next(&scan, &word))
			if (word.kind == WORDS_OPTION && !stands_earlier(command, &word))
				put_fish_option(out, command, &word);
	}
}

enum ctl_exit complete_run(
    const struct ctl_options *options, int argc, char **argv, struct buf *out, struct err *err)
{
	(void)options;
	if (argc == 2 && strcmp(argv[1], "bash") == 0)
		put_bash(out);
	else if (argc == 2 && strcmp(argv[1], "zsh") == 0)
		put_zsh(out);
	else if (argc == 2 && strcmp(argv[1], "fish") == 0)
		put_fish(out);
	else
		return command_misused(err, argv[0], "the name of a shell is wanted", "");
	return CTL_DONE;
}
