package references

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"engang/shared/config"
	"engang/shared/secrets"
)

const (
	usualModels = "https://api.openai.com/v1" // where the configuration and the stack say nothing else
	lookUpTime  = 5 * time.Second
)

// KeyRefused is how the reason of a warning ends where a provider does not take its key.
const KeyRefused = "it does not take the key"

// Models asks each provider whether it knows the models that recipes ask: a look-up is free. One that is
// not known is a fault. That a provider could not be asked, or does not take the key, is worth a look only:
// the key may be for another address. The interface says nothing of announced ends.
func Models(ctx context.Context, client *http.Client, set config.Set, keys map[string]secrets.Value) Findings {
	var found Findings
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		models := map[string]string{} // model to the place that names it first
		for _, r := range set.Recipes {
			if _, known := models[r.Model.Name]; r.Model.Provider == name && !known {
				models[r.Model.Name] = "/recipes/" + r.Name + "/model/name"
			}
		}
		base := set.Common.Providers[name].BaseURL
		if base == "" {
			base = usualModels
		}
		for _, model := range slices.Sorted(maps.Keys(models)) {
			known, err := lookUp(ctx, client, strings.TrimSuffix(base, "/")+"/models/"+url.PathEscape(model), keys[name])
			switch {
			case err != nil:
				found.Warnings = append(found.Warnings, config.Fault{At: models[model], Reason: "whether the provider knows the model is not known: " + err.Error(), Remedy: "look at its list of models"})
			case !known:
				found.Faults = append(found.Faults, config.Fault{At: models[model], Reason: "the provider does not know the model, or not for this key", Remedy: "name one of its models"})
			}
		}
	}
	return found
}

func lookUp(ctx context.Context, client *http.Client, address string, key secrets.Value) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, lookUpTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false, errors.New("its address cannot be asked")
	}
	r.Header.Set("Authorization", "Bearer "+string(key.Reveal()))
	answer, err := client.Do(r)
	if err != nil {
		return false, errors.New("it does not answer")
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if err != nil {
		return false, errors.New("it does not answer")
	}
	var refusal struct{ Error struct{ Code, Type string } }
	_ = json.Unmarshal(raw, &refusal)
	switch {
	case answer.StatusCode == http.StatusOK:
		return true, nil
	case answer.StatusCode == http.StatusNotFound && refusal.Error.Code == "model_not_found":
		return false, nil
	case answer.StatusCode == http.StatusUnauthorized:
		return false, errors.New(KeyRefused)
	}
	return false, fmt.Errorf("it answers %d", answer.StatusCode)
}
