// The dashboard's test: Grafana's own types for dashboards.
module understudy.test/dashboard

go 1.26.0

require github.com/grafana/grafana-foundation-sdk/go v0.0.22
