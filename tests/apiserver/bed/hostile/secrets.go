package hostile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"understudy.test/bed/pair"
)

// Pitfalls: P72, P73, P74, P99.

// holders says which credentials may be in the memory of the process under a uid; nobody else holds
// any, the supervisor and the runner not either (F7, F30).
var holders = map[int][]string{
	observerUID: {"peer-observer"}, 4: {"elector"}, syncerUID: {"syncer", "peer-syncer"}, 6: {"publisher"},
	firstShard: {"worker-1"}, firstShard + 1: {"worker-2"},
}

// environment is what supervisor/start.c gives to each process: one word for a library, nobody's secret.
const environment = "GNUTLS_NO_IMPLICIT_INIT=1\x00"

var tokenLine = regexp.MustCompile(`token: *"?([A-Za-z0-9_.-]{100,})`)

// tokens are those of a hub's credential files, by their names.
func (r *run) tokens(h *pair.Hub) (map[string][]byte, error) {
	found := map[string][]byte{}
	files, err := filepath.Glob(filepath.Join(r.Dir, h.Name, "*.kubeconfig"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		m := tokenLine.FindSubmatch(text)
		if m == nil {
			return nil, fmt.Errorf("%s: no token", file)
		}
		name := filepath.Base(file)
		// The end is what makes it this one: the head and the issuer are the same in all.
		found[name[:len(name)-len(".kubeconfig")]] = m[1][len(m[1])-60:]
	}
	return found, nil
}

// secrets looks for the tokens of both hubs where they must not be: words and environment of
// processes, logs, and the memory of all that do not hold them.
func (r *run) secrets(ctx context.Context) error {
	var wrong []error
	processes := 0
	for _, h := range r.pair.Hubs {
		tokens, err := r.tokens(h)
		if err != nil {
			return err
		}
		if len(tokens) < 7 {
			return fmt.Errorf("%s has %d credential files", h.Name, len(tokens))
		}
		supervisor := pair.Role{Name: "understudyd", Pid: h.Daemon().Pid(), UID: h.UIDBase() - 1}
		for _, role := range append(h.Roles(), supervisor) {
			processes++
			wrong = append(wrong, scan(role, holders[role.UID-h.UIDBase()], tokens))
		}
		wrong = append(wrong, told(ctx, h, tokens))
	}
	r.check(errors.Join(wrong...), "each token is in the memory of its holder alone, in no log, answer, word and environment: %d processes (F7, F30)", processes)
	return nil
}

// told is nil when nothing that a hub says to people has a token: its log, and what understudyctl
// prints.
func told(ctx context.Context, h *pair.Hub, tokens map[string][]byte) error {
	texts := map[string][]byte{}
	text, err := os.ReadFile(h.Log())
	wrong := []error{err}
	texts["log"] = text
	for _, words := range [][]string{{"status", "-o", "json"}, {"history"}, {"audit", "--deep"}} {
		out, _, err := h.Ctl(ctx, 0, words...)
		if err == nil && len(out) < 100 {
			err = fmt.Errorf("%s: %q says %q", h.Name, words, out)
		}
		wrong = append(wrong, err)
		texts[strings.Join(words, " ")] = []byte(out)
	}
	for where, text := range texts {
		for name, token := range tokens {
			if bytes.Contains(text, token) {
				wrong = append(wrong, fmt.Errorf("%s's %s has the token of %s", h.Name, where, name))
			}
		}
	}
	return errors.Join(wrong...)
}

// scan is nil when a process has the tokens that it holds in its memory and nothing else of them.
func scan(role pair.Role, holds []string, tokens map[string][]byte) error {
	where := filepath.Join("/proc", strconv.Itoa(role.Pid))
	var wrong []error
	for _, file := range []string{"cmdline", "environ"} {
		text, err := os.ReadFile(filepath.Join(where, file))
		wrong = append(wrong, err)
		for name, token := range tokens {
			if bytes.Contains(text, token) {
				wrong = append(wrong, fmt.Errorf("%s has the token of %s in its %s", role.Name, name, file))
			}
		}
		if file == "environ" && string(text) != environment && role.Name != "understudyd" {
			wrong = append(wrong, fmt.Errorf("%s has the environment %q", role.Name, text[:min(80, len(text))]))
		}
	}
	// The kernel takes roles before their supervisor when memory is short (P99).
	adjusted, err := os.ReadFile(filepath.Join(where, "oom_score_adj"))
	if last := strings.TrimSpace(string(adjusted)) == "200"; err == nil && last != (role.Name != "understudyd") {
		err = fmt.Errorf("%s has oom_score_adj %s", role.Name, adjusted)
	}
	wrong = append(wrong, err)
	found, err := inMemory(where, tokens)
	wrong = append(wrong, err)
	for name := range tokens {
		switch may := slices.Contains(holds, name); {
		case found[name] && !may:
			wrong = append(wrong, fmt.Errorf("%s (uid %d) has the token of %s in its memory", role.Name, role.UID, name))
		case !found[name] && may: // else the scan would find nothing anywhere
			wrong = append(wrong, fmt.Errorf("%s holds %s, and its memory does not show it", role.Name, name))
		}
	}
	return errors.Join(wrong...)
}

var mapped = regexp.MustCompile(`(?m)^([0-9a-f]+)-([0-9a-f]+) rw`)

// inMemory says which of the tokens lie in what a process can write.
func inMemory(where string, tokens map[string][]byte) (map[string]bool, error) {
	maps, err := os.ReadFile(filepath.Join(where, "maps"))
	if err != nil {
		return nil, err
	}
	memory, err := os.Open(filepath.Join(where, "mem"))
	if err != nil {
		return nil, err
	}
	defer memory.Close()
	found := map[string]bool{}
	for _, m := range mapped.FindAllSubmatch(maps, -1) {
		begin, _ := strconv.ParseInt(string(m[1]), 16, 64)
		end, _ := strconv.ParseInt(string(m[2]), 16, 64)
		area := make([]byte, end-begin)
		n, err := memory.ReadAt(area, begin)
		if err != nil && !errors.Is(err, io.EOF) && n == 0 {
			continue // a stack's guard, or unmapped by now
		}
		for name, token := range tokens {
			found[name] = found[name] || bytes.Contains(area[:n], token)
		}
	}
	return found, nil
}
