package leader

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"understudy.test/bed/pair"
)

// promoters are the identities whose calls a promotion consists of: records and the page's last look.
var promoters = []string{"understudy-elector", "understudy-publisher"}

// AuditFlags makes the API servers of both hubs write down when each call of a promotion came and
// was answered. Watches are left out: they do not end.
func AuditFlags(dir string) (map[string][]string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	policy := filepath.Join(dir, "audit-policy.yaml")
	text := "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules:\n- level: Metadata\n" +
		"  verbs: [get, list, create, update, patch, delete]\n  users:\n"
	for _, name := range promoters {
		text += fmt.Sprintf("  - system:serviceaccount:%s:%s\n", pair.Namespace, name)
	}
	text += "- level: None\n"
	if err := os.WriteFile(policy, []byte(text), 0o644); err != nil {
		return nil, err
	}
	flags := map[string][]string{}
	for _, name := range []string{"hub-a", "hub-b"} {
		flags[name] = []string{"--audit-policy-file=" + policy, "--audit-log-path=" + auditLog(dir, name)}
	}
	return flags, nil
}

func auditLog(dir, hub string) string { return filepath.Join(dir, hub+"-audit.log") }

// span is a time in which a call was under way.
type span struct{ begin, end time.Time }

// inCalls is for how long, between two moments, at least one call was under way at a hub's API server.
func inCalls(dir string, h *pair.Hub, from, to time.Time) (time.Duration, error) {
	path := auditLog(dir, h.Name)
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	var calls []span
	for line := range bytes.Lines(text) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // it is being written: a call of later
		}
		var call struct{ RequestReceivedTimestamp, StageTimestamp time.Time }
		if err := json.Unmarshal(line, &call); err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		if call.StageTimestamp.After(from) && call.RequestReceivedTimestamp.Before(to) {
			calls = append(calls, span{call.RequestReceivedTimestamp, call.StageTimestamp})
		}
	}
	if len(calls) == 0 {
		return 0, fmt.Errorf("%s: no call between %s and %s", path, from, to)
	}
	return covered(calls, from, to), nil
}

// covered is how much of the time between two moments lies in at least one span.
func covered(spans []span, from, to time.Time) (sum time.Duration) {
	slices.SortFunc(spans, func(a, b span) int { return a.begin.Compare(b.begin) })
	for _, s := range spans {
		if s.begin.Before(from) {
			s.begin = from
		}
		if s.end.After(to) {
			s.end = to
		}
		if s.end.After(s.begin) {
			sum += s.end.Sub(s.begin)
			from = s.end
		}
	}
	return sum
}
