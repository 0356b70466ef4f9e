package architecture_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	consolehandler "engang/functions/console/handler"
	enrichmenthandler "engang/functions/enrichment/handler"
	receiverhandler "engang/functions/receiver/handler"
	reconcilerhandler "engang/functions/reconciler/handler"
)

// settingsOf reads each function's settings from the environment, as its main does.
var settingsOf = map[string]func() error{
	"console":    func() error { _, err := consolehandler.SettingsFromEnv(); return err },
	"enrichment": func() error { _, err := enrichmenthandler.SettingsFromEnv(); return err },
	"receiver":   func() error { _, err := receiverhandler.SettingsFromEnv(); return err },
	"reconciler": func() error { _, err := reconcilerhandler.SettingsFromEnv(); return err },
}

// The environment of each version that was deployed is kept from this one on, and never changed: new code is
// deployed into it before the template changes it, and a setting that came later must do without.
func TestNewCodeRunsWithOldSettings(t *testing.T) {
	files, err := filepath.Glob("testdata/environment/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no environment of a former version: %v", err)
	}
	for _, file := range files {
		for function, env := range environments(t, file) {
			t.Run(filepath.Base(file)+" "+function, func(t *testing.T) {
				read, known := settingsOf[function]
				if !known {
					t.Skip("this function is gone")
				}
				for _, name := range everySetting(t) {
					t.Setenv(name, env[name])
					if _, set := env[name]; !set {
						os.Unsetenv(name)
					}
				}
				if err := read(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func environments(t *testing.T, file string) map[string]map[string]string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]map[string]string
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// everySetting lists what any function reads.
func everySetting(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, function := range functions(kept(t)) {
		names, _ := settingsRead(sources(t), "functions/"+function)
		all = append(all, names...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func TestEveryFunctionsSettingsAreReadFromFormerEnvironments(t *testing.T) {
	for _, function := range functions(kept(t)) {
		if settingsOf[function] == nil {
			t.Errorf("settingsOf does not read those of %s", function)
		}
	}
	first := environments(t, "testdata/environment/v1.json")
	for _, function := range []string{"console", "enrichment", "receiver", "reconciler"} {
		if len(first[function]) == 0 {
			t.Errorf("v1.json does not hold the environment of %s", function)
		}
	}
}
