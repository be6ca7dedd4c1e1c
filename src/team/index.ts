/** The team: a multi-agent system, recorded. Every export is named here, one by one; what is not here is not public. */
export { smallTeam, standardTeam, type TeamMember } from "./agents.ts";
export type { TeamBudget } from "./budget.ts";
export type { RoleFunction, RolePlayer, RoleReply } from "./role.ts";
export { runTeam, type TeamOptions, type TeamTopology } from "./run-team.ts";
export { runTeams, type TeamsOptions } from "./run-teams.ts";
export type { TeamEvent, TeamLimits } from "./work-session.ts";
