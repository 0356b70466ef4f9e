package text

import (
	"fmt"
	"io"
	"strings"

	"engang/shared/control"
)

// Erased says what an erasure did, or would do.
func Erased(w io.Writer, e control.Erased) error {
	verb := map[bool]string{true: "would be ", false: ""}[e.DryRun]
	var parts []string
	add := func(n int, one, many, done string) {
		if n > 0 {
			parts = append(parts, Count(n, one, many)+" "+verb+done)
		}
	}
	add(e.Cancelled, "operation", "operations", "stopped")
	add(e.Events, "event", "events", "emptied")
	add(e.Batches, "delivery of many events", "deliveries of many events", "emptied")
	add(e.Bodies, "body", "bodies", "removed from the bucket")
	add(e.Items, "operation, attempt or result", "operations, attempts and results", "removed")
	if len(parts) == 0 {
		parts = []string{"nothing is held"}
	}
	if _, err := fmt.Fprintf(w, "%s: %s\n", Line(e.Object), strings.Join(parts, ", ")); err != nil {
		return err
	}
	if e.DryRun {
		_, err := fmt.Fprintln(w, "Nothing was changed. Without --dry-run it is, for good.")
		return err
	}
	return nil
}
