/** The team: a multi-agent system, recorded. Every export is named here, one by one; what is not here is not public. */
export type { TeamMember } from "./agents.ts";
export type { RolePlayer, RoleReply } from "./role.ts";
export { runTeam, type TeamOptions } from "./run-team.ts";
export { runTeams, type TeamsOptions } from "./run-teams.ts";
export type { TeamEvent } from "./work-session.ts";
