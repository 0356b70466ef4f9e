package intake

import "engang/shared/telemetry"

// counted are the metrics of one delivery: what it came to, and for the alarm whether it could be verified. The
// largest value of that within some minutes is 0 only where no delivery could be: a wrong secret. Beside real
// deliveries the attempts of a stranger leave it at 1.
func counted(outcome string) []telemetry.Metric {
	m := []telemetry.Metric{telemetry.Count(outcome, 1)}
	switch outcome {
	case "Accepted", "Duplicate", "Conflict", "Ignored":
		return append(m, telemetry.Metric{Name: "Verified", Value: 1, Unit: "None"})
	case "SignatureRefused":
		return append(m, telemetry.Metric{Name: "Verified", Value: 0, Unit: "None"})
	}
	return m
}
