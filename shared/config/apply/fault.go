package apply

import (
	"strings"

	"engang/shared/config"
)

// faults collects why a set is refused.
type faults config.Faults

func (f *faults) add(at, reason, remedy string) {
	*f = append(*f, config.Fault{At: at, Reason: reason, Remedy: remedy})
}

// shape notes what a file's own schema refuses, unless ok.
func (f *faults) shape(ok bool, at, reason, remedy string) {
	if !ok {
		*f = append(*f, config.Fault{At: at, Reason: reason, Remedy: remedy, Shape: true})
	}
}

// pointer is the JSON pointer of the steps.
func pointer(steps ...string) string {
	var b strings.Builder
	for _, s := range steps {
		b.WriteString("/" + strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1"))
	}
	return b.String()
}
