package model

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"engang/shared/recipe"
)

// maxCacheKey is the longest prompt_cache_key that the API takes; a longer one is refused with 400.
const maxCacheKey = 64

// request is all that one call sends: no tools, no user, no metadata, and nothing kept at the provider.
func request(p recipe.Prompt) (responses.ResponseNewParams, error) {
	schema, err := ordered(p.Schema)
	if err != nil {
		return responses.ResponseNewParams{}, err
	}
	params := responses.ResponseNewParams{
		Model: p.Model,
		Input: responses.ResponseNewParamsInputUnion{OfString: param.NewOpt(string(p.Input))},
		Text: responses.ResponseTextConfigParam{Format: responses.ResponseFormatTextConfigUnionParam{
			OfJSONSchema: &responses.ResponseFormatTextJSONSchemaConfigParam{
				Name: p.SchemaName, Schema: schema, Strict: param.NewOpt(true),
			},
		}},
		Store:          param.NewOpt(false),
		Truncation:     responses.ResponseNewParamsTruncationDisabled,
		PromptCacheKey: param.NewOpt(cacheKey(p)),
		ServiceTier:    responses.ResponseNewParamsServiceTier(p.ServiceTier),
		Reasoning:      shared.ReasoningParam{Effort: shared.ReasoningEffort(p.Reasoning)},
	}
	if p.Instructions != "" {
		params.Instructions = param.NewOpt(p.Instructions)
	}
	if p.MaxOutputTokens > 0 {
		params.MaxOutputTokens = param.NewOpt(int64(p.MaxOutputTokens))
	}
	return params, nil
}

// ordered keeps what stands inside a schema as it was written: the model writes properties in the
// order of the schema, which a map would sort.
func ordered(raw json.RawMessage) (map[string]any, error) {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, fmt.Errorf("read output schema: %w", err)
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("read output schema: it is empty")
	}
	schema := make(map[string]any, len(parts))
	for k, v := range parts {
		schema[k] = v
	}
	return schema, nil
}

// cacheKey is recipe@version, so that calls of one recipe share the provider's cache of instructions.
func cacheKey(p recipe.Prompt) string {
	key := p.Recipe.String()
	if len(key) > maxCacheKey {
		sum := sha256.Sum256([]byte(key))
		return hex.EncodeToString(sum[:])
	}
	return key
}
