#pragma once

#include <string>

#include "cmd/perenniald/http/api/fields.h"
#include "cmd/perenniald/http/api/json.h"
#include "engine/types/command.h"
#include "engine/types/job_fields.h"

// The options of put and the settings of tubes as members of JSON. A value of two parts is a text,
// as in the protocol: "5:600" is a back-off, "10:1" a rate, "customer-7:2" a concurrency key.
namespace perennial::http {

// Reads the options that a put may have. A wrong value is a problem of `fields`.
PutOptions read_put_options(Fields& fields);

// Reads the numbers and the options of a put whose body comes beside them.
Put read_put(Fields& fields);
// Reads the body of a job or a schedule as a member: one of body and body_base64.
std::string read_body(Fields& fields);

// Reads what is to be set for a tube. What is left out, or null, is not set. A wrong value is a
// problem of `fields`.
TubeSettings read_settings(Fields& fields);

// All settings; one without a value is 0, false, or an empty text.
Json settings_json(const TubeSettings& settings);
// Only those that have a value, in the form in which read_settings() reads them.
Json settings_with_value(const TubeSettings& settings);

}  // namespace perennial::http
