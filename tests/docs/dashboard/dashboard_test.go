// Package dashboard tests that packaging/prometheus/dashboard.json is what Grafana reads: decoded into
// Grafana's own generated types and encoded again, nothing of it is lost or refused. What it
// asks for, tests/docs/dashboard.py checks.
package dashboard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

const file = "../../../packaging/prometheus/dashboard.json"

// load decodes a dashboard as a client of Grafana's does, and says what would not be as it is written.
// Not by UnmarshalJSONStrict: it takes a panel for none, and looks into no target.
func load(raw []byte) error {
	var board dashboard.Dashboard
	if err := json.Unmarshal(raw, &board); err != nil {
		return err
	}
	if err := board.Validate(); err != nil {
		return err
	}
	for i, panel := range board.Panels {
		if panel.Panel == nil {
			return fmt.Errorf("panels[%d]: no panel", i)
		}
		if _, known := cog.NewRuntime().ConfigForPanelcfgVariant(panel.Panel.Type); !known {
			return fmt.Errorf("panels[%d]: Grafana has no panel of type %q", i, panel.Panel.Type)
		}
	}
	again, err := json.Marshal(board)
	if err != nil {
		return err
	}
	var was, is any
	if err := errors.Join(json.Unmarshal(raw, &was), json.Unmarshal(again, &is)); err != nil {
		return err
	}
	return kept("dashboard", was, is)
}

// kept says what of was is not in is. Grafana adds its defaults, that is no loss.
func kept(path string, was, is any) error {
	switch was := was.(type) {
	case map[string]any:
		of, _ := is.(map[string]any)
		for key, value := range was {
			if err := kept(path+"."+key, value, of[key]); err != nil {
				return err
			}
		}
		return nil
	case []any:
		of, _ := is.([]any)
		if len(of) != len(was) {
			return fmt.Errorf("%s: %d of %d are left", path, len(of), len(was))
		}
		for i := range was {
			if err := kept(fmt.Sprintf("%s[%d]", path, i), was[i], of[i]); err != nil {
				return err
			}
		}
		return nil
	}
	// What is empty is left out.
	if !reflect.DeepEqual(was, is) && !(is == nil && reflect.ValueOf(was).IsZero()) {
		return fmt.Errorf("%s: %v became %v", path, was, is)
	}
	return nil
}

func TestMain(m *testing.M) {
	plugins.RegisterDefaultPlugins()
	os.Exit(m.Run())
}

func TestGrafanaReadsAllOfTheDashboard(t *testing.T) {
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := load(raw); err != nil {
		t.Fatal(err)
	}
}

func TestWhatGrafanaWouldNotReadIsNoticed(t *testing.T) {
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []struct{ from, to, says string }{
		{`"expr":`, `"query":`, "query"},
		{`"legendFormat":`, `"legend":`, "legend"},
		{`"timezone": ""`, `"timezone": 3`, "timezone"},
		{`"h": 4`, `"h": "4"`, "gridPos"},
		{`"h": 4`, `"height": 4`, "gridPos.h"},
		{`"overrides": []`, `"overrides": {}`, "overrides"},
		{`"unit": "s"`, `"units": "s"`, "unit"},
		{`"schemaVersion": 38`, `"schemaVersion": "38"`, "schemaVersion"},
		{`"templating"`, `"templates"`, "templates"},
		{`"type": "stat"`, `"type": "dial"`, "dial"},
		{`"includeAll": true`, `"includeAll": "yes"`, "includeAll"},
		{`"panels"`, `"panel"`, "panel"},
	} {
		broken := bytes.Replace(raw, []byte(change.from), []byte(change.to), 1)
		if bytes.Equal(broken, raw) {
			t.Errorf("%s: it is not there", change.from)
			continue
		}
		if err := load(broken); err == nil || !strings.Contains(err.Error(), change.says) {
			t.Errorf("%s instead of %s: want a word about %s, got: %v", change.to, change.from, change.says, err)
		}
	}
}
