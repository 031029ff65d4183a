// Goal: every document reaches the object that it names, and what cannot be placed is refused.
// Method: the ways in which people write YAML objects, and texts that are none.
package kube

import (
	"os"
	"strings"
	"testing"
)

func TestDocumentsAreFoundAsPeopleWriteThem(t *testing.T) {
	cases := []struct {
		name, text string
		want       Document
	}{
		{"block", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n  namespace: b\n",
			Document{APIVersion: "v1", Kind: "Secret", Name: "a", Namespace: "b"}},
		{"wide block", "apiVersion: v1\nkind: Secret\nmetadata:\n    labels:\n        name: no\n    name: a\n",
			Document{APIVersion: "v1", Kind: "Secret", Name: "a"}},
		{"quoted", "apiVersion: \"v1\"\nkind: 'Secret'\nmetadata:\n  name: \"a\" # why\n",
			Document{APIVersion: "v1", Kind: "Secret", Name: "a"}},
		{"flow", "apiVersion: x/v1\nkind: K\nmetadata: {name: a, namespace: b}   # why\nstatus: {}\n",
			Document{APIVersion: "x/v1", Kind: "K", Name: "a", Namespace: "b", HasStatus: true}},
		{"namespace first", "apiVersion: x/v1\nkind: K\nmetadata: {namespace: b, name: \"a\"}\n",
			Document{APIVersion: "x/v1", Kind: "K", Name: "a", Namespace: "b"}},
		{"labels in the flow", "apiVersion: x/v1\nkind: K\nmetadata: {name: a, labels: {name: no, namespace: no}}\n",
			Document{APIVersion: "x/v1", Kind: "K", Name: "a"}},
		{"metadata first", "metadata:\n  name: a\nkind: K\napiVersion: v1\nspec:\n  name: no\n  status: no\n",
			Document{APIVersion: "v1", Kind: "K", Name: "a"}},
	}
	for _, c := range cases {
		got, err := Documents("# a comment\n---\n" + c.text + "---\n")
		if err != nil || len(got) != 1 {
			t.Errorf("%s: %d documents, %v", c.name, len(got), err)
			continue
		}
		got[0].Text = ""
		if got[0] != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got[0], c.want)
		}
	}
}

func TestDocumentsThatNameNoObjectAreRefused(t *testing.T) {
	for _, text := range []string{
		"kind: Secret\nmetadata: {name: a}\n",
		"apiVersion: v1\nmetadata: {name: a}\n",
		"apiVersion: v1\nkind: Secret\nmetadata: {generateName: a}\n",
		"apiVersion: v1\nkind: Secret\nmetadata:\n  labels:\n    name: a\n",
		"<html>\n",
	} {
		if got, err := Documents(text); err == nil {
			t.Errorf("%q: %+v, want an error", text, got)
		}
	}
}

func TestTheSampleStateHoldsAll14MirroredKinds(t *testing.T) {
	text, err := os.ReadFile("../../samples/hub-objects.yaml")
	if err != nil {
		t.Fatal(err)
	}
	documents, err := Documents(string(text))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, d := range documents {
		seen[d.Kind] = true
	}
	for kind := range strings.FieldsSeq("Namespace Secret ServiceAccount Role RoleBinding Project Cluster SliceConfig " +
		"ServiceExportConfig SliceQoSConfig VpnKeyRotation WorkerSliceConfig WorkerSliceGateway WorkerServiceImport") {
		if !seen[kind] {
			t.Errorf("no %s", kind)
		}
	}
}
