package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"understudy.test/bed/fault"
)

// proxy is the part "proxy" of a cluster: bed start CLUSTER proxy runs this command.
func proxy(ctx context.Context, flags *flag.FlagSet, args []string) error {
	c, _, err := whole(flags, args)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.ProxySocket()), 0o700); err != nil {
		return err
	}
	p, l, err := fault.Before(c)
	if err != nil {
		return err
	}
	ended := make(chan error, 2)
	go func() { ended <- p.Control(c.ProxySocket()) }()
	go func() { ended <- p.Serve(l) }()
	select {
	case err = <-ended:
	case <-ctx.Done():
	}
	p.Close()
	return err
}

// setFault changes the fault of a running proxy and prints how many requests the last one met.
func setFault(ctx context.Context, flags *flag.FlagSet, args []string) error {
	c, words, err := whole(flags, args)
	if err != nil {
		return err
	}
	hits, err := fault.Tell(ctx, c.ProxySocket(), words...)
	if err == nil {
		fmt.Println(hits)
	}
	return err
}
