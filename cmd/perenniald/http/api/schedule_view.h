#pragma once

#include <optional>
#include <string>

#include "cmd/perenniald/http/api/fields.h"
#include "cmd/perenniald/http/api/json.h"
#include "engine/types/calendar.h"
#include "engine/types/command.h"
#include "engine/types/schedule.h"
#include "engine/view/engine_view.h"

// Schedules as objects of the API: openapi.json.
namespace perennial::http {

// As a row of the list: its times, and how far it is.
Json schedule_row(const engine::EngineView::SeenSchedule& seen, const engine::EngineView& engine);
// With all that is set, in the form in which read_schedule() reads it, but for the body.
Json schedule_json(const engine::EngineView::SeenSchedule& seen, const engine::EngineView& engine);

// Reads when a schedule is due: one of every_seconds with anchor, cron with zone, and at. A wrong
// value is a problem of `fields`, and so are times that the calendar does not have. None: there is
// a problem.
std::optional<ScheduleWhen> read_when(Fields& fields, const Calendar& calendar, Nanos wall);
// Reads what is to be set, without a body. A wrong value is a problem of `fields`.
SetSchedule read_schedule(Fields& fields, const std::string& name, const Calendar& calendar,
                          Nanos wall);

}  // namespace perennial::http
