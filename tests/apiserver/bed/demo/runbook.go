package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"understudy.test/bed/cluster"
	"understudy.test/bed/pair"
)

// The runbook is what it says it is: its blocks of commands are run on a pair, in the order of the
// page, and what they print must have the form that the page shows. A line `<!-- bed: kill hub-a -->`
// between them breaks or mends something. A shown line `...` stands for any lines. Numbers, times and
// ids differ; words do not. With Rewrite the page gets what was printed now; a shown line `?` stands
// for all that a new command prints at once.

// runbookPage, from the repository's folder.
const runbookPage = "docs/runbook.md"

var (
	prompt    = regexp.MustCompile(`^(hub-[ab])\$ (.*)$`)
	directive = regexp.MustCompile(`^<!-- bed: (\w+) (hub-[ab]) -->$`)
	// What only looks may be asked again until it shows what is expected.
	looks = regexp.MustCompile(`^(curl|kubectl (-n \S+ )?get|understudyctl (status|history|sync (status|diff)|archive list|worker list|audit|.*--check))`)
	// What was refused has changed nothing, and may be tried again.
	refused = "refused: nothing was changed"
	forms   = []struct {
		what *regexp.Regexp
		form string
	}{
		{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z`), "TIME"},
		{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`), "UID"},
		{regexp.MustCompile(`\b[0-9a-f]{16,}\b|\b[0-9a-f]{4}(-[0-9a-f]{4}){3}\b`), "ID"},
		{regexp.MustCompile(`\b(\d+h)?\d+m\d+s\b|\b\d+h\d+m\b|\b\d+(\.\d+)? ?m?s\b`), "SPAN"},
		{regexp.MustCompile(`\d+(\.\d+)?(e\+\d+)?`), "N"},
		{regexp.MustCompile(`\s+`), " "},
	}
)

func form(line string) string {
	line = strings.TrimSpace(line)
	for _, f := range forms {
		line = f.what.ReplaceAllString(line, f.form)
	}
	return line
}

// fits says whether the lines have the form of those shown, and returns them as the page would show
// them now.
func fits(shown, printed []string) ([]string, bool) {
	var now []string
	at := 0
	for i, line := range shown {
		if line == "..." {
			now = append(now, line)
			continue
		}
		from := at
		for at < len(printed) && form(printed[at]) != form(line) {
			at++
		}
		if at == len(printed) || (at > from && (i == 0 || shown[i-1] != "...")) {
			return nil, false
		}
		now = append(now, printed[at])
		at++
	}
	return now, at == len(printed) || len(shown) > 0 && shown[len(shown)-1] == "..."
}

type runbook struct {
	s         *story
	old, page []string // lines as they are, and as they should be
	ran       int
	former    *cluster.Renewed // certificate of an API server that presents another one now
}

// runbook runs the page.
func (s *story) runbook(ctx context.Context) error {
	path := filepath.Join(s.Root, runbookPage)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	r := &runbook{s: s, old: strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")}
	for _, h := range s.pair.Hubs {
		if err := r.tools(h); err != nil {
			return err
		}
	}
	if err = r.writeContexts(""); err == nil {
		err = r.run(ctx)
	}
	if err == nil && r.ran == 0 {
		err = errors.New("the page has no command")
	}
	if s.Rewrite && err == nil {
		err = os.WriteFile(path, []byte(strings.Join(r.page, "\n")+"\n"), 0o644)
	}
	return err
}

func (r *runbook) run(ctx context.Context) error {
	console := false
	for i := 0; i < len(r.old); i++ {
		line := r.old[i]
		r.page = append(r.page, line)
		if found := directive.FindStringSubmatch(line); found != nil {
			if err := r.bed(ctx, found[1], r.hub(found[2])); err != nil {
				return fmt.Errorf("%s:%d: %s: %w", runbookPage, i+1, line, err)
			}
		}
		if strings.HasPrefix(line, "```") {
			console = line == "```console"
			continue
		}
		found := prompt.FindStringSubmatch(line)
		if !console || found == nil {
			continue
		}
		var shown []string
		for at := i + 1; at < len(r.old) && r.old[at] != "```" && !prompt.MatchString(r.old[at]); at++ {
			shown = append(shown, r.old[at])
		}
		now, err := r.command(ctx, r.hub(found[1]), found[2], shown)
		if err != nil {
			return fmt.Errorf("%s:%d: %s: %w", runbookPage, i+1, line, err)
		}
		r.page = append(r.page, now...)
		r.ran++
		i += len(shown)
	}
	r.s.fact("", "%d commands of %s print what it shows", r.ran, runbookPage)
	return nil
}

func (r *runbook) hub(name string) *pair.Hub {
	if name == r.s.a.Name {
		return r.s.a
	}
	return r.s.b
}

// tools are the programs as they are called on the hub: its sockets, its administrator.
func (r *runbook) tools(h *pair.Hub) error {
	folder := filepath.Join(r.s.Dir, "bin-"+h.Name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	build := filepath.Join(r.s.Root, "build")
	for name, line := range map[string]string{
		// bootstrap, and what names a context, is called where the contexts of all clusters are.
		"understudyctl": fmt.Sprintf("case \" $* \" in ' bootstrap '*|*' --context '*) export PATH=%s:$PATH KUBECONFIG=%s;; esac\nexec %s/understudyctl --socket %s \"$@\"",
			build, r.contexts(), build, h.StatusSocket()),
		"kubectl": fmt.Sprintf("exec %s/kubectl --kubeconfig %s \"$@\"", build, h.Cluster.Kubeconfig()),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+line+"\n"), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// command runs one and returns what the page shows of it now.
func (r *runbook) command(ctx context.Context, h *pair.Hub, command string, shown []string) ([]string, error) {
	switch command {
	case "systemctl restart understudyd":
		if err := h.Daemon().End(syscall.SIGTERM, patience); err != nil {
			return nil, err
		}
		return shown, h.Start()
	case "systemctl start understudyd":
		return shown, h.Start()
	}
	var now, printed []string
	try := func() bool {
		printed = r.printed(ctx, h, command)
		if r.s.Rewrite && slices.Equal(shown, []string{"?"}) {
			now = printed
			return true
		}
		fit, ok := fits(shown, printed)
		now = fit
		return ok
	}
	fit := false
	_, err := until(ctx, 2*patience, 300*time.Millisecond, func() bool {
		fit = try()
		return fit || !looks.MatchString(command) && !strings.Contains(strings.Join(printed, "\n"), refused)
	})
	if fit {
		return now, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: it prints another form than the page shows:\n%s", err, strings.Join(printed, "\n"))
	}
	return nil, fmt.Errorf("it prints another form than the page shows:\n%s", strings.Join(printed, "\n"))
}

func (r *runbook) printed(ctx context.Context, h *pair.Hub, command string) []string {
	etc := filepath.Dir(h.Config())
	command = strings.NewReplacer("http://127.0.0.1:8080", h.HTTP(), "/etc/understudy/credentials", etc, "/etc/understudy", etc,
		"/root/pair", r.s.pair.Output()).Replace(command)
	c := exec.CommandContext(ctx, "sh", "-c", command)
	c.Env = append(os.Environ(), "PATH="+filepath.Join(r.s.Dir, "bin-"+h.Name)+":"+os.Getenv("PATH"), "KUBECONFIG="+h.Cluster.Kubeconfig())
	out, _ := c.CombinedOutput()
	text := strings.NewReplacer(etc, "/etc/understudy", r.s.pair.Output(), "/root/pair",
		filepath.Dir(h.StatusSocket()), "/run/understudy").Replace(string(out))
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
