package identity

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// entry is a line of a log in the did:webvh 1.0 entry shape: what our own logs and those of did:webvh have in common.
type entry struct {
	number          int
	versionID, hash string
	time            time.Time
	parameters      object
	document        object
	proofs          []object
	// body is the entry without its proofs.
	body object
}

type object = map[string]any

const (
	hashPattern    = `Qm[1-9A-HJ-NP-Za-km-z]{44}`
	wrongSignature = "the signature of the proof is wrong"
)

var (
	hashText      = regexp.MustCompile(`^` + hashPattern + `$`)
	versionIDText = regexp.MustCompile(`^([1-9][0-9]{0,9})-(` + hashPattern + `)$`)
	timeText      = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$`)
	errNotUnique  = errors.New("an object has two members of the same name")
)

// readEntry takes exactly the five members, each of its type.
func readEntry(value any) (*entry, error) {
	said, _ := value.(object)
	parameters, isParameters := said["parameters"].(object)
	document, isDocument := said["state"].(object)
	proofs, isProofs := objects(said["proof"])
	versionID, _ := said["versionId"].(string)
	versionTime, _ := said["versionTime"].(string)
	named := versionIDText.FindStringSubmatch(versionID)
	if len(said) != 5 || !isParameters || !isDocument || !isProofs || len(proofs) == 0 || named == nil {
		return nil, errors.New("the entry does not have exactly the members of an entry")
	}
	number, err := strconv.Atoi(named[1])
	if err != nil {
		return nil, err
	}
	upper := strings.ToUpper(versionTime)
	at, err := time.Parse(time.RFC3339, upper)
	if err != nil || !timeText.MatchString(upper) || at.Year() < 1 {
		return nil, errors.New("the versionTime is not a time")
	}
	delete(said, "proof")
	// A log counts in microseconds.
	return &entry{number, versionID, named[2], at.Truncate(time.Microsecond), parameters, document, proofs, said}, nil
}

// checkUnique refuses two members of one name in an object, of which encoding/json keeps the last.
func checkUnique(octets []byte) error {
	type level struct {
		names map[string]bool
		// A name comes next, where the level is an object.
		isName bool
	}
	decoder := json.NewDecoder(bytes.NewReader(octets))
	decoder.UseNumber()
	var open []level
	for decoder.More() || len(open) > 0 {
		token, err := decoder.Token()
		if err != nil {
			return err
		}
		top := len(open) - 1
		if top >= 0 && open[top].isName {
			if name, is := token.(string); is {
				if open[top].names[name] {
					return errNotUnique
				}
				open[top].names[name], open[top].isName = true, false
				continue
			}
		} else if top >= 0 && open[top].names != nil {
			open[top].isName = true
		}
		switch token {
		case json.Delim('{'):
			open = append(open, level{map[string]bool{}, true})
		case json.Delim('['):
			open = append(open, level{})
		case json.Delim('}'), json.Delim(']'):
			open = open[:top]
		}
	}
	return nil
}

// checkFirstHash: the identifier is the hash of the first entry with a placeholder wherever it stands; the hash of the entry covers it with the
// identifier put in.
func (e *entry) checkFirstHash(scid string) error {
	octets, err := e.placed(scid)
	if err != nil || multihash(bytes.ReplaceAll(octets, []byte(scid), []byte("{SCID}"))) != scid {
		return errors.New("the identifier does not follow from the first entry")
	}
	return e.checkHash(octets)
}

// checkNextHash: the hash of a later entry covers it with the versionId of its predecessor in place of its own.
func (e *entry) checkNextHash(predecessor string) error {
	octets, err := e.placed(predecessor)
	if err != nil {
		return err
	}
	return e.checkHash(octets)
}

func (e *entry) checkHash(octets []byte) error {
	if multihash(octets) != e.hash {
		return errors.New("the hash does not fit the entry")
	}
	return nil
}

// placed is the canonical form of the body with another versionId.
func (e *entry) placed(versionID string) ([]byte, error) {
	copied := object{}
	for name, value := range e.body {
		copied[name] = value
	}
	copied["versionId"] = versionID
	return Canonicalize(copied)
}

// checkProof gives the one of signers that made a good proof of body: eddsa-jcs-2022 (VC Data Integrity EdDSA 1.0 §3.3) by a did:key.
func checkProof(proof, body object, signers []string) (string, error) {
	value, _ := proof["proofValue"].(string)
	config := object{}
	for name, member := range proof {
		if name != "proofValue" {
			config[name] = member
		}
	}
	isRight := config["type"] == "DataIntegrityProof" && config["cryptosuite"] == "eddsa-jcs-2022"
	if !isRight || config["proofPurpose"] != "assertionMethod" {
		return "", errors.New("the proof is of another type, cryptosuite or purpose")
	}
	method, _ := config["verificationMethod"].(string)
	key := strings.TrimPrefix(strings.SplitN(method, "#", 2)[0], "did:key:")
	// Body and fragment must be the same key: some readers look at one, some at the other.
	if !contains(signers, key) || method != "did:key:"+key+"#"+key {
		return "", errors.New("the proof is by a key that may not sign this entry")
	}
	signed, err := Canonicalize(config)
	if err != nil {
		return "", err
	}
	content, err := Canonicalize(body)
	if err != nil {
		return "", err
	}
	if !strings.HasPrefix(value, "z") {
		return "", errors.New(wrongSignature)
	}
	signature, err := base58Decode(value[1:])
	if err != nil {
		return "", err
	}
	good, err := verifies(key, append(sha256Of(signed), sha256Of(content)...), signature)
	if err == nil && !good {
		err = errors.New(wrongSignature)
	}
	return key, err
}

func objects(value any) ([]object, bool) {
	list, is := value.([]any)
	found := make([]object, 0, len(list))
	for _, item := range list {
		one, isObject := item.(object)
		is = is && isObject
		found = append(found, one)
	}
	return found, is
}

// texts reads a list of texts, none of them twice.
func texts(value any) ([]string, bool) {
	list, is := value.([]any)
	if !is {
		return nil, false
	}
	found := make([]string, 0, len(list))
	for _, item := range list {
		text, is := item.(string)
		if !is || contains(found, text) {
			return nil, false
		}
		found = append(found, text)
	}
	return found, true
}

func contains(texts []string, wanted string) bool {
	for _, text := range texts {
		if text == wanted {
			return true
		}
	}
	return false
}
