package mirror

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

// verbs are what an operator does with the mirror: `understudyctl sync` and `archive`.
var verbs = []part{
	{"a whole pass", (*run).pass},
	{"a throttled server", (*run).throttled},
	{"another version", (*run).otherVersions},
	{"status and diff", (*run).differences},
	{"what is not mirrored", (*run).notMirrored},
	{"held deletions", (*run).held},
	{"a restored source", (*run).restored},
	{"a source restored ahead", (*run).restoredAhead},
	{"strange requests", (*run).strangeRequests},
	{"archive", (*run).archive},
}

// ctl runs understudyctl on a hub's machine and demands an exit code and texts in what it prints.
func (r *run) ctl(ctx context.Context, h *pair.Hub, code int, texts []string, words ...string) (string, error) {
	out, got, err := h.Ctl(ctx, 0, words...)
	if err != nil {
		return out, err
	}
	if got != code {
		return out, fmt.Errorf("%s: understudyctl %s: exit code %d, want %d:\n%s", h.Name, strings.Join(words, " "), got, code, out)
	}
	for _, text := range texts {
		if !strings.Contains(out, text) {
			return out, fmt.Errorf("%s: understudyctl %s: no %q in:\n%s", h.Name, strings.Join(words, " "), text, out)
		}
	}
	return out, nil
}

// ctlCheck checks one run of understudyctl as a line of its own. What only looks is asked again until it
// shows what is expected, or never: status comes once a second. Of what is asked over admin.sock only 30
// are answered a minute.
func (r *run) ctlCheck(ctx context.Context, name string, h *pair.Hub, code int, texts []string, words ...string) (out string) {
	period := 250 * time.Millisecond
	if len(words) > 1 && words[1] == "diff" {
		period = 3 * time.Second
	}
	looks := len(words) > 1 && words[0] == "sync" && (words[1] == "status" || words[1] == "diff")
	err := errors.New("not asked")
	for end := time.Now().Add(patience); err != nil; {
		if out, err = r.ctl(ctx, h, code, texts, words...); !looks || time.Now().After(end) || err != nil && !kube.Pause(ctx, period) {
			break
		}
	}
	r.check(name, err)
	return out
}

// guard is a policy of hub-b's administrator that refuses every write of one Secret: its copy stays
// behind until the policy goes.
func guard(name string) []kube.Object {
	api := "admissionregistration.k8s.io/v1"
	return []kube.Object{
		{"apiVersion": api, "kind": "ValidatingAdmissionPolicy", "metadata": map[string]any{"name": "guard"}, "spec": map[string]any{
			"failurePolicy": "Fail",
			"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{"apiGroups": []any{""}, "apiVersions": []any{"v1"},
				"operations": []any{"UPDATE"}, "resources": []any{"secrets"}}}},
			"validations": []any{map[string]any{"expression": "object.metadata.name != '" + name + "'", "reason": "Forbidden", "message": "GUARDED"}}}},
		{"apiVersion": api, "kind": "ValidatingAdmissionPolicyBinding", "metadata": map[string]any{"name": "guard"}, "spec": map[string]any{
			"policyName": "guard", "validationActions": []any{"Deny"}}},
	}
}

var (
	policies = kube.Resource{Group: "admissionregistration.k8s.io", Version: "v1", Name: "validatingadmissionpolicies"}
	bindings = kube.Resource{Group: "admissionregistration.k8s.io", Version: "v1", Name: "validatingadmissionpolicybindings"}
)

func (r *run) differences(ctx context.Context) error {
	r.ctlCheck(ctx, "sync status says Synced, and each kind with a version", r.b, 0,
		[]string{"mirror        Synced, complete", "SliceConfig          Synced", "WorkerServiceImport  Synced"}, "sync", "status")
	r.check("the same as JSON", see.Eventually(ctx, patience, func() error {
		out, err := r.ctl(ctx, r.b, 0, nil, "sync", "status", "-o", "json")
		var status kube.Object
		if err == nil {
			err = json.Unmarshal([]byte(out), &status)
		}
		for _, kind := range status.List("kinds") {
			k := kube.Object(kind.(map[string]any))
			if err == nil && (k.Text("state") != "Synced" || k.Int("completeAt") <= 0) {
				err = fmt.Errorf("%v", k)
			}
		}
		if err == nil && len(status.List("kinds")) != len(rows()) {
			err = fmt.Errorf("%d kinds", len(status.List("kinds")))
		}
		return err
	}))
	r.ctlCheck(ctx, "sync diff of equal hubs ends with 0", r.b, 0, []string{"diff", "all are equal"}, "sync", "diff")
	r.ctlCheck(ctx, "one kind alone, too", r.b, 0, []string{"all are equal"}, "sync", "diff", "sliceconfigs")
	r.ctlCheck(ctx, "a kind that is not mirrored ends with 2", r.b, 2, []string{"NO  the kind", "Pod"}, "sync", "diff", "Pod")
	r.ctlCheck(ctx, "an Active has no mirror to compare: sync diff ends with 2 and says why", r.a, 2, []string{"NO  state of this hub", "only a Standby mirrors its peer"}, "sync", "diff")
	for _, verb := range []string{"resync", "accept-restore"} {
		r.ctlCheck(ctx, "nor to command: sync "+verb, r.a, 1, []string{"only a Standby mirrors its peer"}, "sync", verb, "--dry-run")
	}
	r.ctlCheck(ctx, "its sync status says that it leads", r.a, 0, []string{"this hub leads, its peer mirrors it"}, "sync", "status")
	return r.behind(ctx)
}

// behind has one Secret whose copy cannot follow and one Role that may not.
func (r *run) behind(ctx context.Context) error {
	secretly := base64.StdEncoding.EncodeToString([]byte("hunter2"))
	path := kube.Secrets.Path(pair.Project, "guarded")
	if err := r.create(ctx, kube.Secrets, secret("guarded", "Opaque", map[string]any{"password": "djE=", "kept": "djE="})); err != nil {
		return err
	}
	if err := copied(ctx, r.b, path, any_); err != nil {
		return err
	}
	admin, err := kube.Load(r.b.Cluster.BreakGlass())
	if err != nil {
		return err
	}
	defer admin.Close()
	resources := []kube.Resource{policies, bindings}
	for i, o := range guard("guarded") {
		if _, err := r.b.Admin.Create(ctx, resources[i].Path("", ""), o); err != nil {
			return err
		}
	}
	// A policy is in force a moment later: until a dry run is refused.
	if err := see.Eventually(ctx, patience, func() error {
		_, err := admin.Merge(ctx, path+"?dryRun=All", kube.Object{"data": map[string]any{"x": "djE="}})
		if err == nil || !strings.Contains(err.Error(), "GUARDED") {
			return fmt.Errorf("the guard is not in force: %v", err)
		}
		return nil
	}); err != nil {
		return err
	}
	if _, err := r.a.Admin.Merge(ctx, path, kube.Object{"data": map[string]any{"password": secretly, "new": secretly}}); err != nil {
		return err
	}
	role := owned("rbac.authorization.k8s.io/v1", "Role", nil)
	role["rules"] = []any{map[string]any{"apiGroups": []any{"*"}, "resources": []any{"*"}, "verbs": []any{"*"}}}
	if err := r.create(ctx, roles, role); err != nil {
		return err
	}
	if err := r.says(ctx, r.b, "kubeslice-cisco/spare", "allow-rules"); err != nil {
		return err
	}
	out := r.ctlCheck(ctx, "sync diff names what differs, by field, and ends with 1", r.b, 1,
		[]string{"Secret kubeslice-cisco/guarded: +data.new, data.password", "GUARDED",
			"Role kubeslice-cisco/spare: only on the source (blocked: its rules give * on */*", "2 differ"}, "sync", "diff")
	asJSON, err := r.ctl(ctx, r.b, 1, []string{`"object": "Secret kubeslice-cisco/guarded"`}, "sync", "diff", "-o", "json")
	if all := out + asJSON; err == nil && (strings.Contains(all, secretly) || strings.Contains(all, "hunter2")) {
		err = errors.New("the content of a Secret is printed")
	}
	r.check("without the content of the Secret, as JSON, too", err)
	r.ctlCheck(ctx, "sync status says Blocked, for the two kinds alone", r.b, 0,
		[]string{"mirror        Blocked, INCOMPLETE", "Role                 Blocked", "Cluster              Synced"}, "sync", "status")
	r.ctlCheck(ctx, "sync resync --dry-run says what is due", r.b, 0, []string{"Secret kubeslice-cisco/guarded: would be written", "nothing was written"}, "sync", "resync", "--dry-run")
	for i := range resources {
		if err := r.b.Admin.Delete(ctx, resources[1-i].Path("", "guard")); err != nil {
			return err
		}
	}
	if err := r.a.Admin.Delete(ctx, roles.Path(pair.Project, "spare")); err != nil {
		return err
	}
	if err := see.Eventually(ctx, patience, func() error {
		_, err := admin.Merge(ctx, path+"?dryRun=All", kube.Object{"data": map[string]any{"x": "djE="}})
		if err != nil && strings.Contains(err.Error(), "GUARDED") {
			return err
		}
		return nil
	}); err != nil {
		return err
	}
	r.ctlCheck(ctx, "sync resync of a kind", r.b, 0, []string{"listed anew"}, "sync", "resync", "Secret")
	r.check("tries what was blocked at once", copied(ctx, r.b, path, func(o kube.Object) error {
		if o.Text("data", "password") != secretly {
			return errors.New("it is the old one")
		}
		return nil
	}))
	if err := r.armed(ctx, r.b); err != nil {
		return err
	}
	r.ctlCheck(ctx, "and the hubs are equal again", r.b, 0, []string{"all are equal"}, "sync", "diff")
	return nil
}
