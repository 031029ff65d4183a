package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"understudy.test/bed/kube"
)

// tokenLife is far beyond any test.
const tokenLife = 365 * 24 * time.Hour

func kubeconfigFlag(flags *flag.FlagSet) *string {
	return flags.String("kubeconfig", "", "whose server and whose rights: a `file` with everything inline")
}

func apply(ctx context.Context, flags *flag.FlagSet, args []string) error {
	kubeconfig := kubeconfigFlag(flags)
	namespace := flags.String("n", "default", "`namespace` of objects that name none")
	var sets each
	flags.Var(&sets, "set", "replace {{KEY}} by the value: `KEY=VALUE`")
	flags.Parse(args)
	if flags.NArg() == 0 {
		return usageError("name files")
	}
	set := map[string]string{}
	for _, s := range sets {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			return usageError("--set " + s + ": want KEY=VALUE")
		}
		set[key] = value
	}
	client, err := kube.Load(*kubeconfig)
	if err != nil {
		return err
	}
	for _, path := range flags.Args() {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if _, err := client.ApplyAll(ctx, string(text), *namespace, set); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

func token(ctx context.Context, flags *flag.FlagSet, args []string) error {
	kubeconfig := kubeconfigFlag(flags)
	namespace := flags.String("n", "default", "the account's `namespace`")
	whole := flags.Bool("as-kubeconfig", false, "print a whole kubeconfig with the token in it")
	server := flags.String("server", "", "with --as-kubeconfig: another `URL`, such as the fault proxy's")
	life := flags.Duration("life", tokenLife, "how long the token is good")
	flags.Parse(args)
	if flags.NArg() != 1 {
		return usageError("name one account")
	}
	client, err := kube.Load(*kubeconfig)
	if err != nil {
		return err
	}
	text, err := client.Token(ctx, *namespace, flags.Arg(0), *life)
	if err != nil {
		return err
	}
	if *server == "" {
		*server = client.Server
	}
	if *whole {
		text = string(kube.Kubeconfig(*server, client.CA, kube.User{Token: text}))
	}
	fmt.Println(strings.TrimSpace(text))
	return nil
}
