package kube

import (
	"fmt"
	"regexp"
	"strings"
)

// Document is one object of a YAML file, unparsed, with the few fields that say where it goes.
type Document struct {
	Text                              string
	APIVersion, Kind, Namespace, Name string
	HasStatus                         bool
}

var (
	separator = regexp.MustCompile(`(?m)^---[ \t]*(#.*)?$`)
	topLevel  = regexp.MustCompile(`^([A-Za-z]+):(?:[ \t]+(.*))?$`)
	inner     = regexp.MustCompile(`^( +)([A-Za-z]+):[ \t]*(.*)$`)
	flowInner = regexp.MustCompile(`\{[^{}]*\}`)
	flowName  = regexp.MustCompile(`(?:^|[, ])name:\s*([^,}\s]+)`)
	flowSpace = regexp.MustCompile(`(?:^|[, ])namespace:\s*([^,}\s]+)`)
)

// Documents splits a YAML file into its objects. It is no YAML parser: apiVersion, kind and
// metadata are looked for where people write them, at the left margin, metadata as an indented
// block or as a {flow} on one line. What it cannot place is an error; the text itself is parsed
// by the API server.
func Documents(text string) ([]Document, error) {
	var all []Document
	for _, part := range separator.Split(text, -1) {
		d := Document{Text: part}
		d.scan()
		if d.APIVersion == "" && d.Kind == "" && d.Name == "" {
			if strings.TrimSpace(regexp.MustCompile(`(?m)#.*$`).ReplaceAllString(part, "")) == "" {
				continue
			}
		}
		if d.APIVersion == "" || d.Kind == "" || d.Name == "" {
			return nil, fmt.Errorf("document %d: want apiVersion, kind and metadata.name, found %q, %q, %q",
				len(all)+1, d.APIVersion, d.Kind, d.Name)
		}
		all = append(all, d)
	}
	return all, nil
}

func (d *Document) scan() {
	section, indent := "", ""
	for line := range strings.Lines(d.Text) {
		line = strings.TrimRight(line, "\r\n")
		if m := topLevel.FindStringSubmatch(line); m != nil {
			section, indent = m[1], ""
			d.top(m[1], m[2])
			continue
		}
		m := inner.FindStringSubmatch(line)
		if section != "metadata" || m == nil {
			continue
		}
		if indent == "" {
			indent = m[1]
		}
		if m[1] == indent {
			d.metadata(m[2], m[3])
		}
	}
}

func (d *Document) top(key, value string) {
	switch key {
	case "apiVersion":
		d.APIVersion = scalar(value)
	case "kind":
		d.Kind = scalar(value)
	case "status":
		d.HasStatus = true
	case "metadata":
		flow, ok := strings.CutPrefix(value, "{")
		if !ok {
			return
		}
		for flowInner.MatchString(flow) {
			flow = flowInner.ReplaceAllString(flow, "")
		}
		if m := flowName.FindStringSubmatch(flow); m != nil {
			d.Name = scalar(m[1])
		}
		if m := flowSpace.FindStringSubmatch(flow); m != nil {
			d.Namespace = scalar(m[1])
		}
	}
}

func (d *Document) metadata(key, value string) {
	switch key {
	case "name":
		d.Name = scalar(value)
	case "namespace":
		d.Namespace = scalar(value)
	}
}

// scalar is a plain or quoted word without the comment behind it.
func scalar(value string) string {
	value, _, _ = strings.Cut(value, " #")
	return strings.Trim(strings.TrimSpace(value), `"'`)
}
